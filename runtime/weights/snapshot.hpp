#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace swage {

/// XXH3-64 of a snapshot's flat buffer.
uint64_t checksum(const std::vector<std::byte>& data);

/// One tensor's place in a snapshot's flat buffer.
struct tensor_entry {
  std::string name; ///< As in the checkpoint, such as "model.norm.weight".
  std::string type; ///< safetensors spelling, such as "F32".
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< Bytes from the start of the buffer.
  uint64_t bytes = 0;
};

/// What a snapshot consists of, and the checksum that proves it arrived whole.
struct manifest {
  uint64_t version = 0;
  std::vector<tensor_entry> tensors;
  uint64_t bytes = 0;
  uint64_t checksum = 0; ///< XXH3-64 of the flat buffer.
};

/// The immutable weights of one policy version. Copies share the buffer.
struct snapshot {
  manifest what;
  std::shared_ptr<const std::vector<std::byte>> data;
};

/// Whether the buffer has the size and the checksum of its manifest.
bool is_whole(const snapshot& weights);

template <class Inspector>
bool inspect(Inspector& f, tensor_entry& x) {
  return f.object(x).fields(f.field("name", x.name), f.field("type", x.type),
                            f.field("shape", x.shape),
                            f.field("offset", x.offset),
                            f.field("bytes", x.bytes));
}

template <class Inspector>
bool inspect(Inspector& f, manifest& x) {
  return f.object(x).fields(f.field("version", x.version),
                            f.field("tensors", x.tensors),
                            f.field("bytes", x.bytes),
                            f.field("checksum", x.checksum));
}

} // namespace swage
