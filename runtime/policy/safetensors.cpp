#include "runtime/policy/safetensors.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace swage {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "safetensors is little-endian and is read in place");

// As the format's own reader limits it.
constexpr uint64_t max_header_bytes = 100'000'000;
constexpr size_t max_dimensions = 16;

constexpr std::array<std::pair<const char*, size_t>, 15> types = {{
  {"F32", 4},
  {"BF16", 2},
  {"F16", 2},
  {"F64", 8},
  {"I64", 8},
  {"I32", 4},
  {"I16", 2},
  {"I8", 1},
  {"U8", 1},
  {"U16", 2},
  {"U32", 4},
  {"U64", 8},
  {"BOOL", 1},
  {"F8_E4M3", 1},
  {"F8_E5M2", 1},
}};

/// Bytes of a tensor, or nothing if that overflows or a size is negative.
bool bytes_of(const std::vector<int64_t>& shape, size_t element,
              uint64_t& bytes) {
  bytes = element;
  for (auto size : shape)
    if (size < 0
        || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes))
      return false;
  return true;
}

/// A header entry, or why it cannot be one.
struct entry {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

bool is_count(const json& value) {
  return value.is_number_unsigned()
         && value.get<uint64_t>() <= uint64_t{INT64_MAX};
}

/// Empty if `value` is a well-formed entry, else what is wrong with it.
std::string read_entry(const json& value, entry& out) {
  if (!value.is_object() || !value.contains("dtype")
      || !value["dtype"].is_string() || !value.contains("shape")
      || !value["shape"].is_array() || !value.contains("data_offsets"))
    return "needs dtype, shape and data_offsets";
  auto& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !is_count(offsets[0])
      || !is_count(offsets[1]))
    return "data_offsets must be two offsets";
  out.type = value["dtype"];
  if (safetensors_type_size(out.type) == 0)
    return fmt::format("has the unknown dtype '{}'", out.type);
  if (value["shape"].size() > max_dimensions)
    return "has too many dimensions";
  for (auto& size : value["shape"]) {
    if (!is_count(size))
      return "has a size that is not a count";
    out.shape.push_back(size.get<int64_t>());
  }
  out.begin = offsets[0];
  out.end = offsets[1];
  uint64_t bytes = 0;
  if (!bytes_of(out.shape, safetensors_type_size(out.type), bytes))
    return "is larger than memory can be";
  if (out.begin > out.end || out.end - out.begin != bytes)
    return fmt::format("has {} bytes by shape and dtype, but offsets {} to {}",
                       bytes, out.begin, out.end);
  return {};
}

/// Empty if the sorted entries tile `size` bytes, else what is wrong.
std::string check_tiling(const std::vector<entry>& entries, uint64_t size) {
  uint64_t expected = 0;
  for (auto& item : entries) {
    if (item.begin != expected)
      return fmt::format("tensor '{}' begins at {} where the one before ends "
                         "at {}",
                         item.name, item.begin, expected);
    expected = item.end;
  }
  if (expected != size)
    return fmt::format("tensors end at {}, but there are {} bytes of data",
                       expected, size);
  return {};
}

float from_half(uint16_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u,
           mantissa = bits & 1023u;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float value = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -value : value;
}

template <class From, class Convert>
void convert(std::span<const std::byte> from, std::span<float> out,
             Convert to_float) {
  // memcpy: nothing in the format aligns the elements.
  for (size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof(From), sizeof(From));
    out[i] = to_float(value);
  }
}

} // namespace

size_t safetensors_type_size(const std::string& type) {
  for (auto& [name, size] : types)
    if (type == name)
      return size;
  return 0;
}

result<safetensors_file> safetensors_file::open(const fs::path& path) {
  auto file = mapped_file::open(path);
  if (!file)
    return tl::unexpected<error>(file.error());
  safetensors_file out;
  out.path_ = path;
  out.file_ = std::move(*file);
  if (auto parsed = out.parse(); !parsed)
    return tl::unexpected<error>(
      {parsed.error().code,
       fmt::format("'{}': {}", path.string(), parsed.error().message)});
  return out;
}

result<void> safetensors_file::parse() {
  auto bytes = file_->bytes();
  uint64_t header = 0;
  if (bytes.size() < sizeof(header))
    return fail(ec::corrupt,
                fmt::format("not a safetensors file: {} bytes are too few for "
                            "the header's length",
                            bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof(header));
  auto rest = bytes.subspan(sizeof(header));
  if (header > max_header_bytes || header > rest.size())
    return fail(ec::corrupt,
                fmt::format("the header claims {} bytes, the file has {}",
                            header, rest.size()));
  std::string text{reinterpret_cast<const char*>(rest.data()), header};
  return parse_entries(text, rest.subspan(header));
}

result<void> safetensors_file::parse_entries(const std::string& header,
                                             std::span<const std::byte> data) {
  auto root = json::parse(header, nullptr, false);
  if (!root.is_object())
    return fail(ec::corrupt, "the header is not a JSON object");
  std::vector<entry> entries;
  for (auto& [name, value] : root.items()) {
    if (name == "__metadata__") {
      if (!value.is_object())
        return fail(ec::corrupt, "__metadata__ is not an object");
      for (auto& [key, text] : value.items()) {
        if (!text.is_string())
          return fail(ec::corrupt, "__metadata__ holds more than strings");
        metadata_[key] = text;
      }
      continue;
    }
    entry item;
    item.name = name;
    if (auto wrong = read_entry(value, item); !wrong.empty())
      return fail(ec::corrupt, fmt::format("tensor '{}' {}", name, wrong));
    entries.push_back(std::move(item));
  }
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) {
    return std::pair{a.begin, a.end} < std::pair{b.begin, b.end};
  });
  if (auto wrong = check_tiling(entries, data.size()); !wrong.empty())
    return fail(ec::corrupt, wrong);
  for (auto& item : entries)
    tensors_[item.name] = {std::move(item.type), std::move(item.shape),
                           data.subspan(item.begin, item.end - item.begin)};
  return {};
}

result<stored_tensor> safetensors_file::find(const std::string& name) const {
  if (auto found = tensors_.find(name); found != tensors_.end())
    return found->second;
  return fail(ec::not_found,
              fmt::format("'{}' has no tensor '{}'", path_.string(), name));
}

result<void>
write_safetensors(const fs::path& path,
                  const std::map<std::string, stored_tensor>& tensors,
                  const string_map& metadata) {
  json header = json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.type},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  auto text = header.dump();
  // The format wants the data to begin at a multiple of eight.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  std::vector<std::span<const std::byte>> parts;
  parts.push_back(std::as_bytes(std::span{&length, 1}));
  parts.push_back(std::as_bytes(std::span{text}));
  for (auto& [name, tensor] : tensors)
    parts.push_back(tensor.data);
  return write_whole(path, parts);
}

result<void> to_float32(const stored_tensor& from, std::span<float> out) {
  auto size = safetensors_type_size(from.type);
  if (from.data.size() != out.size() * size)
    return fail(ec::invalid_argument,
                fmt::format("expected {} elements, found {} bytes of {}",
                            out.size(), from.data.size(), from.type));
  if (from.type == "F32")
    convert<float>(from.data, out, [](float x) { return x; });
  else if (from.type == "F64")
    convert<double>(from.data, out,
                    [](double x) { return static_cast<float>(x); });
  else if (from.type == "F16")
    convert<uint16_t>(from.data, out, from_half);
  else if (from.type == "BF16")
    convert<uint16_t>(from.data, out, [](uint16_t x) {
      return std::bit_cast<float>(uint32_t{x} << 16);
    });
  else
    return fail(ec::unsupported,
                fmt::format("cannot read {} as float32; F32, BF16, F16 and "
                            "F64 can be",
                            from.type));
  return {};
}

} // namespace swage
