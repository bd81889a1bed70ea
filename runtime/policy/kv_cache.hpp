#pragma once

#include "kernels/aligned.hpp"
#include "kernels/cpu_kernels.hpp"
#include "runtime/policy/model_config.hpp"

#include <cstdint>

namespace swage {

/// Keys and values of all layers for a fixed number of slots, preallocated.
/// Keys are [layers, slots, kv_heads, capacity / 16, head_dim, 16] (as
/// `attention_row` wants them), values [layers, slots, kv_heads, capacity,
/// head_dim].
class kv_cache {
public:
  kv_cache(const model_config& config, int64_t slots, int64_t max_tokens);

  int64_t slots() const { return slots_; }
  int64_t max_tokens() const { return max_tokens_; }
  const kernels::attention_shape& shape() const { return shape_; }

  float* keys(int64_t layer, int64_t slot) {
    return keys_.data() + (layer * slots_ + slot) * slot_size_;
  }
  float* values(int64_t layer, int64_t slot) {
    return values_.data() + (layer * slots_ + slot) * slot_size_;
  }

  /// Writes one position of one slot. `key` and `value` are
  /// [kv_heads, head_dim].
  void write(int64_t layer, int64_t slot, int64_t position, const float* key,
             const float* value);

  /// Copies the first `tokens` positions of a slot to another.
  void copy_prefix(int64_t from, int64_t to, int64_t tokens);

private:
  int64_t layers_;
  int64_t slots_;
  int64_t max_tokens_;
  int64_t slot_size_ = 0;
  kernels::attention_shape shape_;
  kernels::float_buffer keys_;
  kernels::float_buffer values_;
};

} // namespace swage
