#include "runtime/verify/build_cache.hpp"

#include "runtime/verify/worker_process.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

namespace swage {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t entry_magic = 0x3142'4547'4157'53; // "SWAGEB1"
constexpr uint64_t sweep_interval = 256;
constexpr auto abandoned = std::chrono::hours(1);

/// Begins an entry; the payload follows: an artifact or a refusal's detail.
struct header {
  uint64_t magic = entry_magic;
  uint64_t checksum = 0; ///< xxh3 of category and payload.
  uint64_t bytes = 0;
  uint8_t kind = 0; ///< A `category`; `ok` for an artifact.
  uint8_t reserved[7] = {};
};

uint64_t checksum(uint8_t kind, const std::string& payload) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(), kind);
}

bool write_entry(const fs::path& path, const header& head,
                 const std::string& payload) {
  std::ofstream file{path, std::ios::binary};
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file.write(payload.data(), static_cast<std::streamsize>(payload.size()));
  file.close();
  return file.good();
}

std::optional<built> decode(const std::string& bytes) {
  header head;
  if (bytes.size() < sizeof head)
    return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  auto payload = bytes.substr(sizeof head);
  if (head.magic != entry_magic || head.bytes != payload.size()
      || head.kind >= num_categories
      || head.checksum != checksum(head.kind, payload))
    return std::nullopt;
  auto kind = static_cast<category>(head.kind);
  if (kind == category::ok)
    return built{std::move(payload)};
  return built{tl::unexpected(rejection{kind, std::move(payload)})};
}

struct file_use {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type used;
};

std::vector<file_use> entries_of(const fs::path& folder) {
  std::vector<file_use> found;
  std::error_code ignored;
  for (fs::recursive_directory_iterator it{folder, ignored}, end; it != end;
       it.increment(ignored)) {
    std::error_code gone;
    if (!it->is_regular_file(gone))
      continue;
    auto used = it->last_write_time(gone);
    auto bytes = gone ? 0 : it->file_size(gone);
    if (!gone)
      found.push_back({it->path(), bytes, used});
  }
  return found;
}

} // namespace

result<build_cache> build_cache::open(const fs::path& folder,
                                      uint64_t max_bytes) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return fail(ec::io, fmt::format("cannot make the build cache '{}': {}",
                                    folder.string(), code.message()));
  build_cache cache{folder, max_bytes};
  cache.sweep();
  return cache;
}

build_cache::build_cache(fs::path folder, uint64_t max_bytes)
  : folder_(std::move(folder)), max_bytes_(max_bytes) {}

build_cache::build_cache(build_cache&& other) noexcept
  : folder_(std::move(other.folder_)), max_bytes_(other.max_bytes_),
    kept_(other.kept_.load()) {}

fs::path build_cache::path_of(const std::string& key) const {
  return folder_ / key.substr(0, 2) / key;
}

std::optional<built> build_cache::find(const std::string& key) const {
  auto path = path_of(key);
  descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat what {};
  if (!file || ::fstat(file.value(), &what) != 0)
    return std::nullopt;
  std::string bytes(static_cast<size_t>(what.st_size), '\0');
  auto n = ::read(file.value(), bytes.data(), bytes.size());
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, n)));
  auto entry = decode(bytes);
  if (!entry)
    ::unlink(path.c_str());
  else
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // Used now; see sweep.
  return entry;
}

void build_cache::keep(const std::string& key, const built& entry) {
  header head;
  const auto& payload = entry ? *entry : entry.error().detail;
  head.kind = static_cast<uint8_t>(entry ? category::ok : entry.error().kind);
  head.bytes = payload.size();
  head.checksum = checksum(head.kind, payload);
  auto path = path_of(key);
  auto count = kept_.fetch_add(1) + 1;
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  auto beside = path;
  beside += fmt::format(".{}-{}", ::getpid(), count);
  if (write_entry(beside, head, payload))
    fs::rename(beside, path, code);
  else
    fs::remove(beside, code);
  if (count % sweep_interval == 0)
    sweep();
}

void build_cache::sweep() {
  descriptor lock{
    ::open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
  if (!lock || ::flock(lock.value(), LOCK_EX | LOCK_NB) != 0)
    return;
  auto entries = entries_of(folder_);
  auto now = fs::file_time_type::clock::now();
  std::error_code ignored;
  uint64_t total = 0;
  for (auto& entry : entries) {
    auto name = entry.path.filename().string();
    if (name == "lock")
      entry.bytes = 0;
    else if (name.find('.') != std::string::npos
             && now - entry.used > abandoned)
      fs::remove(entry.path, ignored);
    total += entry.bytes;
  }
  if (total <= max_bytes_)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.used < b.used; });
  for (const auto& entry : entries) {
    if (total <= max_bytes_ / 5 * 4)
      break;
    if (entry.bytes > 0 && fs::remove(entry.path, ignored))
      total -= entry.bytes;
  }
}

} // namespace swage
