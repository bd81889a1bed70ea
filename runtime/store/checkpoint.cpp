#include "runtime/store/checkpoint.hpp"

#include "runtime/store/durable_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <unistd.h>

namespace fs = std::filesystem;
using nlohmann::json;

namespace swage {

namespace {

constexpr auto manifest_name = "manifest.json";

std::string directory_name(uint64_t step) {
  return fmt::format("v{:06}", step);
}

result<json> describe_files(const fs::path& directory) {
  auto files = json::object();
  for (auto& entry : fs::directory_iterator(directory)) {
    auto sum = file_checksum(entry.path());
    if (!sum)
      return tl::unexpected(sum.error());
    if (auto synced = sync_path(entry.path()); !synced)
      return tl::unexpected(synced.error());
    files[entry.path().filename().string()]
      = {{"bytes", fs::file_size(entry.path())},
         {"xxh3", fmt::format("{:016x}", *sum)}};
  }
  return files;
}

result<void> check_file(const fs::path& file, const json& expected) {
  std::error_code failed;
  auto bytes = fs::file_size(file, failed);
  if (failed || bytes != expected.at("bytes").get<uint64_t>())
    return fail(ec::corrupt,
                fmt::format("{}: expected {} bytes, found {}", file.string(),
                            expected.at("bytes").get<uint64_t>(),
                            failed ? failed.message() : std::to_string(bytes)));
  auto sum = file_checksum(file);
  if (!sum)
    return tl::unexpected(sum.error());
  if (fmt::format("{:016x}", *sum) != expected.at("xxh3").get<std::string>())
    return fail(ec::corrupt, fmt::format("{}: its checksum is not the one in "
                                         "{}", file.string(), manifest_name));
  return {};
}

/// The stage that a checkpoint's manifest names; empty if it cannot be read.
std::string stage_of(const fs::path& directory) {
  auto text = read_file(directory / manifest_name);
  auto manifest = json::parse(text ? *text : "", nullptr, false);
  return manifest.is_object() ? manifest.value("stage", "") : "";
}

} // namespace

checkpoint_store::checkpoint_store(fs::path root, uint32_t keep_last)
  : root_(std::move(root)), keep_last_(std::max(1u, keep_last)) {
  // nop
}

result<checkpoint_info> checkpoint_store::write(checkpoint_info info,
                                                const fill_function& fill) try {
  const auto final_path = root_ / directory_name(info.step);
  const auto temporary
    = root_ / fmt::format(".{}.{}", directory_name(info.step), getpid());
  fs::remove_all(temporary);
  fs::create_directories(temporary);
  if (auto filled = fill(temporary); !filled) {
    fs::remove_all(temporary);
    return tl::unexpected(filled.error());
  }
  auto files = describe_files(temporary);
  if (!files)
    return tl::unexpected(files.error());
  json manifest = {{"step", info.step},
                   {"hash", fmt::format("{:016x}", info.hash)},
                   {"stage", info.stage},
                   {"files", *files}};
  if (auto written
      = write_durably(temporary / manifest_name, manifest.dump(2) + "\n");
      !written)
    return tl::unexpected(written.error());
  fs::remove_all(final_path);
  fs::rename(temporary, final_path);
  if (auto synced = sync_path(root_); !synced)
    return tl::unexpected(synced.error());
  remove_old();
  info.directory = final_path;
  return info;
} catch (const fs::filesystem_error& failure) {
  return fail(ec::io, fmt::format("cannot write checkpoint {}: {}", info.step,
                                  failure.what()));
}

result<checkpoint_info>
checkpoint_store::open(const fs::path& directory,
                       std::span<const std::string_view> wanted) try {
  auto text = read_file(directory / manifest_name);
  if (!text)
    return tl::unexpected(text.error());
  auto manifest = json::parse(*text);
  checkpoint_info info;
  info.step = manifest.at("step").get<uint64_t>();
  info.hash = std::stoull(manifest.at("hash").get<std::string>(), nullptr, 16);
  info.stage = manifest.at("stage").get<std::string>();
  info.directory = directory;
  for (auto& [name, expected] : manifest.at("files").items())
    if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end())
      continue;
    else if (auto checked = check_file(directory / name, expected); !checked)
      return tl::unexpected(checked.error());
  return info;
} catch (const std::exception&) { // JSON, or a number in it
  return fail(ec::corrupt,
              fmt::format("{}: expected a checkpoint's manifest, JSON with "
                          "step, hash, stage and files; found something else",
                          (directory / manifest_name).string()));
}

bool checkpoint_store::is_checkpoint(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / manifest_name, ignored);
}

std::optional<checkpoint_info>
checkpoint_store::newest_valid(std::vector<std::string>* rejected,
                               std::span<const std::string_view> wanted) const {
  auto all = list();
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    auto opened = open(*it, wanted);
    if (opened)
      return *opened;
    if (rejected)
      rejected->push_back(opened.error().message);
  }
  return std::nullopt;
}

uint64_t step_of(const fs::path& checkpoint) {
  return std::stoull(checkpoint.filename().string().substr(1));
}

void checkpoint_store::remove_torn() const {
  std::vector<fs::path> torn;
  std::error_code ignored;
  for (auto& entry : fs::directory_iterator(root_, ignored))
    if (entry.path().filename().string().starts_with(".v"))
      torn.push_back(entry.path());
  for (auto& path : torn)
    fs::remove_all(path, ignored);
}

std::vector<fs::path> checkpoint_store::list() const {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (auto& entry : fs::directory_iterator(root_, ignored)) {
    auto name = entry.path().filename().string();
    if (name.size() >= 7 && name[0] == 'v'
        && name.find_first_not_of("0123456789", 1) == std::string::npos)
      out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end(),
            [](auto& a, auto& b) { return step_of(a) < step_of(b); });
  return out;
}

void checkpoint_store::remove_old() const {
  auto all = list();
  if (all.size() <= keep_last_)
    return;
  auto next = stage_of(all[0]);
  for (size_t i = 0; i + keep_last_ < all.size(); ++i) {
    auto stage = std::exchange(next, stage_of(all[i + 1]));
    if (stage != next)
      continue; // The last one of its kind of stage.
    // Renamed first, so that a crash within leaves no half checkpoint in sight.
    auto doomed = root_ / ("." + all[i].filename().string() + ".old");
    std::error_code ignored;
    fs::rename(all[i], doomed, ignored);
    fs::remove_all(doomed, ignored);
  }
}

} // namespace swage
