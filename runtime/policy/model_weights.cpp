#include "runtime/policy/model_weights.hpp"

#include "runtime/policy/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <numbers>
#include <set>
#include <utility>

namespace swage {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

snapshot seal(std::vector<tensor_entry> layout, uint64_t version,
              std::vector<std::byte> data) {
  snapshot out;
  out.what.version = version;
  out.what.tensors = std::move(layout);
  out.what.bytes = data.size();
  out.what.checksum = checksum(data);
  out.data = std::make_shared<const std::vector<std::byte>>(std::move(data));
  return out;
}

std::vector<std::byte> buffer_for(const std::vector<tensor_entry>& layout) {
  auto& last = layout.back();
  return std::vector<std::byte>(last.offset + last.bytes);
}

std::span<float> floats(std::vector<std::byte>& data,
                        const tensor_entry& entry) {
  // Offsets are multiples of four and new aligns for any scalar.
  return {reinterpret_cast<float*>(data.data() + entry.offset),
          entry.bytes / sizeof(float)};
}

/// A generator that is the same everywhere, unlike std::normal_distribution.
class normal_draws {
public:
  explicit normal_draws(uint64_t seed) : state_(seed) {}

  /// Two independent draws from N(0, 1).
  std::pair<double, double> next() {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    double angle = 2 * std::numbers::pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

private:
  double uniform() {
    // splitmix64
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
  }

  uint64_t state_;
};

/// Which file holds which tensors of a checkpoint.
using shard_map = std::map<std::string, std::set<std::string>>;

result<shard_map> read_index(const fs::path& file) {
  auto text = read_text(file);
  if (!text)
    return tl::unexpected<error>(text.error());
  auto root = json::parse(*text, nullptr, false);
  if (!root.is_object() || !root.contains("weight_map")
      || !root["weight_map"].is_object())
    return fail(ec::corrupt,
                fmt::format("'{}' has no object 'weight_map'", file.string()));
  shard_map out;
  for (auto& [name, shard] : root["weight_map"].items()) {
    if (!shard.is_string()
        || shard.get<std::string>().find('/') != std::string::npos)
      return fail(ec::corrupt,
                  fmt::format("'{}': '{}' is not in a file of this folder",
                              file.string(), name));
    out[shard].insert(name);
  }
  return out;
}

/// Copies one tensor of a checkpoint to its place.
result<void> place(const stored_tensor& from, const tensor_entry& entry,
                   std::vector<std::byte>& data) {
  if (from.shape != entry.shape)
    return fail(ec::corrupt,
                fmt::format("'{}' has shape [{}], config.json makes it [{}]",
                            entry.name, fmt::join(from.shape, ", "),
                            fmt::join(entry.shape, ", ")));
  auto copied = to_float32(from, floats(data, entry));
  if (!copied)
    return fail(copied.error().code,
                fmt::format("'{}': {}", entry.name, copied.error().message));
  return {};
}

result<snapshot> read_shards(const fs::path& directory, const shard_map& shards,
                             const model_config& config) {
  auto layout = parameter_layout(config);
  std::map<std::string, const tensor_entry*> missing;
  for (auto& entry : layout)
    missing[entry.name] = &entry;
  auto data = buffer_for(layout);
  for (auto& [name, wanted] : shards) {
    auto file = safetensors_file::open(directory / name);
    if (!file)
      return tl::unexpected<error>(file.error());
    for (auto& [tensor_name, tensor] : file->tensors()) {
      auto entry = missing.find(tensor_name);
      if (entry == missing.end())
        continue; // Such as a tied head that was saved all the same.
      if (auto placed = place(tensor, *entry->second, data); !placed)
        return fail(placed.error().code,
                    fmt::format("'{}': {}", (directory / name).string(),
                                placed.error().message));
      missing.erase(entry);
    }
  }
  if (!missing.empty())
    return fail(ec::corrupt,
                fmt::format("the checkpoint in '{}' lacks '{}' ({} tensors in "
                            "all)",
                            directory.string(), missing.begin()->first,
                            missing.size()));
  return seal(std::move(layout), 0, std::move(data));
}

} // namespace

result<snapshot> open_weights(const fs::path& directory,
                              const model_config& config, uint64_t seed) {
  std::error_code ignored;
  if (fs::exists(directory / "model.safetensors", ignored))
    return read_shards(directory, {{"model.safetensors", {}}}, config);
  auto index = directory / "model.safetensors.index.json";
  if (!fs::exists(index, ignored))
    return random_weights(config, seed);
  auto shards = read_index(index);
  if (!shards)
    return tl::unexpected<error>(shards.error());
  return read_shards(directory, *shards, config);
}

snapshot random_weights(const model_config& config, uint64_t seed) {
  auto layout = parameter_layout(config);
  auto data = buffer_for(layout);
  normal_draws draws{seed};
  for (auto& entry : layout) {
    auto out = floats(data, entry);
    bool is_norm = entry.shape.size() == 1;
    for (size_t i = 0; i < out.size(); i += 2) {
      auto [a, b] = is_norm ? std::pair{1.0, 1.0} : draws.next();
      auto scale = is_norm ? 1.0 : config.initializer_range;
      out[i] = static_cast<float>(a * scale);
      if (i + 1 < out.size())
        out[i + 1] = static_cast<float>(b * scale);
    }
  }
  return seal(std::move(layout), 0, std::move(data));
}

result<std::map<std::string, std::span<const float>>>
tensors_of(const snapshot& weights, const model_config& config) {
  if (!is_whole(weights))
    return fail(ec::corrupt,
                fmt::format("the snapshot of version {} does not match its "
                            "checksum; pull it again",
                            weights.what.version));
  std::map<std::string, std::span<const float>> out;
  std::map<std::string, const tensor_entry*> found;
  for (auto& entry : weights.what.tensors)
    found[entry.name] = &entry;
  for (auto& wanted : parameter_layout(config)) {
    auto entry = found.find(wanted.name);
    if (entry == found.end() || entry->second->type != wanted.type
        || entry->second->shape != wanted.shape)
      return fail(ec::invalid_argument,
                  fmt::format("version {} is of another model: expected '{}' "
                              "as F32 [{}]",
                              weights.what.version, wanted.name,
                              fmt::join(wanted.shape, ", ")));
    auto& place = *entry->second;
    if (place.bytes != wanted.bytes || place.offset % sizeof(float) != 0
        || place.offset > weights.data->size()
        || place.bytes > weights.data->size() - place.offset)
      return fail(ec::corrupt, fmt::format("version {}: '{}' lies outside the "
                                           "snapshot's buffer",
                                           weights.what.version, place.name));
    out[place.name] = {
      reinterpret_cast<const float*>(weights.data->data() + place.offset),
      place.bytes / sizeof(float)};
  }
  return out;
}

snapshot make_snapshot(const model_config& config, uint64_t version,
                       std::span<const float> flat) {
  std::vector<std::byte> data(flat.size_bytes());
  std::memcpy(data.data(), flat.data(), flat.size_bytes());
  return seal(parameter_layout(config), version, std::move(data));
}

result<void> write_weights(const snapshot& weights, const fs::path& file) {
  std::map<std::string, stored_tensor> tensors;
  for (auto& entry : weights.what.tensors)
    tensors[entry.name] = {
      entry.type, entry.shape,
      std::span{*weights.data}.subspan(entry.offset, entry.bytes)};
  return write_safetensors(file, tensors, {{"format", "pt"}});
}

} // namespace swage
