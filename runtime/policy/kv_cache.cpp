#include "runtime/policy/kv_cache.hpp"

#include <algorithm>

namespace swage {

using kernels::key_block;

kv_cache::kv_cache(const model_config& config, int64_t slots,
                   int64_t max_tokens)
  : layers_(config.num_layers), slots_(slots),
    max_tokens_(max_tokens), shape_{config.num_heads, config.num_kv_heads,
                                    config.head_dim,
                                    (max_tokens + key_block - 1) / key_block
                                      * key_block} {
  slot_size_ = config.kv_size() * shape_.capacity;
  auto size = static_cast<size_t>(layers_ * slots_ * slot_size_);
  keys_.resize(size);
  values_.resize(size);
}

void kv_cache::write(int64_t layer, int64_t slot, int64_t position,
                     const float* key, const float* value) {
  auto [heads, kv_heads, size, capacity] = shape_;
  int64_t block = position / key_block * key_block;
  for (int64_t h = 0; h < kv_heads; ++h) {
    float* to = keys(layer, slot) + (h * capacity + block) * size
                + position % key_block;
    for (int64_t d = 0; d < size; ++d)
      to[d * key_block] = key[h * size + d];
    std::copy_n(value + h * size, size,
                values(layer, slot) + (h * capacity + position) * size);
  }
}

void kv_cache::copy_prefix(int64_t from, int64_t to, int64_t tokens) {
  auto [heads, kv_heads, size, capacity] = shape_;
  // Whole blocks of keys: what lies behind `tokens` in the last one is written
  // before it is read.
  int64_t blocks = (tokens + key_block - 1) / key_block;
  for (int64_t layer = 0; layer < layers_; ++layer)
    for (int64_t h = 0; h < kv_heads; ++h) {
      auto head = h * capacity * size;
      std::copy_n(keys(layer, from) + head, blocks * key_block * size,
                  keys(layer, to) + head);
      std::copy_n(values(layer, from) + head, tokens * size,
                  values(layer, to) + head);
    }
}

} // namespace swage
