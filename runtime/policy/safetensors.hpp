#pragma once

#include "runtime/error.hpp"
#include "runtime/policy/mapped_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace swage {

/// One tensor of a safetensors file. The bytes belong to the file's mapping.
struct stored_tensor {
  std::string type; ///< Safetensors spelling: "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;
  std::span<const std::byte> data; ///< Row-major, little-endian.
};

using string_map = std::map<std::string, std::string>;

/// A safetensors file, mapped read-only. Whatever was accepted is safe to
/// read: every range lies in the file and matches its shape and type.
class safetensors_file {
public:
  /// Fails with `ec::not_found`, `ec::io`, or `ec::corrupt` and what is wrong:
  /// a bad header, an unknown type, a gap, an overlap, a range out of bounds.
  static result<safetensors_file> open(const std::filesystem::path& path);

  const std::map<std::string, stored_tensor>& tensors() const {
    return tensors_;
  }
  /// The tensor called `name`, or `ec::not_found` naming the file.
  result<stored_tensor> find(const std::string& name) const;

  /// The header's `__metadata__`.
  const string_map& metadata() const { return metadata_; }

private:
  result<void> parse();
  result<void> parse_entries(const std::string& header,
                             std::span<const std::byte> data);

  std::shared_ptr<const mapped_file> file_;
  std::filesystem::path path_;
  std::map<std::string, stored_tensor> tensors_;
  string_map metadata_;
};

/// Size in bytes of one element of a safetensors type; 0 if it is unknown.
size_t safetensors_type_size(const std::string& type);

/// Writes a file that appears under `path` whole or not at all: temporary
/// file in the same folder, fsync, rename. Tensors are laid out in name order.
result<void>
write_safetensors(const std::filesystem::path& path,
                  const std::map<std::string, stored_tensor>& tensors,
                  const string_map& metadata = {});

/// Copies a tensor of type F32, BF16, F16 or F64 into `out` as float32.
/// @pre `out.size()` is the number of elements.
result<void> to_float32(const stored_tensor& from, std::span<float> out);

} // namespace swage
