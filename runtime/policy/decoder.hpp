#pragma once

#include "kernels/aligned.hpp"
#include "runtime/error.hpp"
#include "runtime/policy/kv_cache.hpp"
#include "runtime/policy/model_config.hpp"
#include "runtime/policy/rotary.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace swage {

/// Calls `body(begin, end)` over parts of 0 .. `count`, on the threads that
/// its maker has. Empty: the calling thread does everything.
using parallel_runner = std::function<void(
  int64_t count, const std::function<void(int64_t, int64_t)>& body)>;

/// One token of a forward pass: `token` stands at `position` of `slot`.
struct token_row {
  int32_t slot = 0;
  int32_t position = 0;
  int32_t token = 0;
};

/// The forward pass of a Qwen3 model over rows of any slots and positions:
/// decoding feeds one row a slot, prefill and scoring feed many. Positions of
/// a slot must be fed in order, and those before must be in the cache. A row's
/// result is the same, bit for bit, whatever other rows come with it.
class decoder {
public:
  explicit decoder(const model_config& config, parallel_runner parallel = {});

  /// Packs the weights. On failure the old ones stay.
  result<void> load(const snapshot& weights);

  const model_config& config() const { return config_; }

  /// Runs all layers, writes the rows' keys and values into `cache`.
  /// @pre Weights are loaded; tokens, slots and positions are in range.
  void forward(std::span<const token_row> rows, kv_cache& cache);

  /// Logits [count, vocab_size] of rows first .. first + count - 1 of the last
  /// forward pass.
  std::span<const float> logits(int64_t first, int64_t count);

  /// How many rows' logits are worth computing at a time.
  int64_t logit_rows() const;

private:
  struct matrix {
    kernels::float_buffer data;
    kernels::packed_view view;
  };
  struct layer {
    std::vector<float> input_norm, query_norm, key_norm, output_norm;
    matrix qkv, output, gate_up, down;
  };
  struct loaded {
    std::vector<float> embedding, norm;
    std::vector<layer> layers;
    matrix head;
  };

  void parallel(int64_t count,
                const std::function<void(int64_t, int64_t)>& body);
  void multiply(kernels::rows_view x, const matrix& w, kernels::rows_view y,
                bool add);
  void normalise(kernels::rows_view x, const std::vector<float>& weight,
                 kernels::rows_view out);
  void attend(int64_t index, std::span<const token_row> rows, kv_cache& cache);
  void feed_forward(const layer& weights, int64_t rows);
  kernels::rows_view view(kernels::float_buffer& buffer, int64_t rows,
                          int64_t width) const;

  model_config config_;
  parallel_runner parallel_;
  rotary_table rotary_;
  loaded weights_;
  kernels::float_buffer hidden_, normed_, qkv_, attended_, gate_up_, product_,
    logits_;
};

} // namespace swage
