#include "runtime/policy/decoder.hpp"

#include "runtime/policy/model_weights.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace swage {

using kernels::rows_view;

namespace {

const kernels::cpu_kernels& cpu() {
  return kernels::cpu();
}

} // namespace

decoder::decoder(const model_config& config, parallel_runner parallel)
  : config_(config), parallel_(std::move(parallel)),
    rotary_(config.head_dim, config.rope_theta) {
  // nop
}

result<void> decoder::load(const snapshot& weights) {
  auto tensors = tensors_of(weights, config_);
  if (!tensors)
    return tl::unexpected<error>(tensors.error());
  auto copy = [&](const std::string& name) {
    auto from = tensors->at(name);
    return std::vector<float>(from.begin(), from.end());
  };
  // Matrices that read the same input are packed as one.
  auto pack = [&](std::initializer_list<std::string> names, int64_t inputs) {
    std::vector<float> joined;
    for (auto& name : names) {
      auto from = tensors->at(name);
      joined.insert(joined.end(), from.begin(), from.end());
    }
    auto outputs = static_cast<int64_t>(joined.size()) / inputs;
    matrix out;
    out.data.resize(static_cast<size_t>(kernels::packed_size(outputs, inputs)));
    cpu().pack(joined.data(), outputs, inputs, out.data.data());
    out.view = {out.data.data(), outputs, inputs};
    return out;
  };
  loaded made;
  auto hidden = config_.hidden_size;
  made.embedding = copy("model.embed_tokens.weight");
  made.norm = copy("model.norm.weight");
  made.head = pack({config_.tie_word_embeddings ? "model.embed_tokens.weight"
                                                : "lm_head.weight"},
                   hidden);
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    auto at = "model.layers." + std::to_string(i) + ".";
    layer next;
    next.input_norm = copy(at + "input_layernorm.weight");
    next.query_norm = copy(at + "self_attn.q_norm.weight");
    next.key_norm = copy(at + "self_attn.k_norm.weight");
    next.output_norm = copy(at + "post_attention_layernorm.weight");
    next.qkv = pack({at + "self_attn.q_proj.weight",
                     at + "self_attn.k_proj.weight",
                     at + "self_attn.v_proj.weight"},
                    hidden);
    next.output = pack({at + "self_attn.o_proj.weight"}, config_.query_size());
    next.gate_up = pack(
      {at + "mlp.gate_proj.weight", at + "mlp.up_proj.weight"}, hidden);
    next.down = pack({at + "mlp.down_proj.weight"}, config_.intermediate_size);
    made.layers.push_back(std::move(next));
  }
  weights_ = std::move(made);
  return {};
}

void decoder::parallel(int64_t count,
                       const std::function<void(int64_t, int64_t)>& body) {
  if (parallel_ && count > 1)
    parallel_(count, body);
  else
    body(0, count);
}

void decoder::multiply(rows_view x, const matrix& w, rows_view y, bool add) {
  parallel(kernels::panel_count(w.view.outputs),
           [&](int64_t begin, int64_t end) {
             cpu().linear(x, w.view, y, {begin, end}, add);
           });
}

void decoder::normalise(rows_view x, const std::vector<float>& weight,
                        rows_view out) {
  cpu().rms_norm(x, weight.data(), out, config_.hidden_size,
                 static_cast<float>(config_.rms_norm_eps));
}

rows_view decoder::view(kernels::float_buffer& buffer, int64_t rows,
                        int64_t width) const {
  auto size = static_cast<size_t>(rows * width);
  if (buffer.size() < size)
    buffer.resize(size);
  return {buffer.data(), rows, width};
}

void decoder::forward(std::span<const token_row> rows, kv_cache& cache) {
  auto count = static_cast<int64_t>(rows.size());
  auto size = config_.hidden_size;
  auto x = view(hidden_, count, size), normed = view(normed_, count, size);
  int64_t positions = 0;
  for (int64_t r = 0; r < count; ++r) {
    auto& row = rows[static_cast<size_t>(r)];
    std::copy_n(weights_.embedding.data() + row.token * size, size,
                x.data + r * size);
    positions = std::max<int64_t>(positions, row.position + 1);
  }
  rotary_.grow(positions);
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    auto& layer = weights_.layers[static_cast<size_t>(i)];
    auto qkv = view(qkv_, count, layer.qkv.view.outputs);
    auto attended = view(attended_, count, config_.query_size());
    normalise(x, layer.input_norm, normed);
    multiply(normed, layer.qkv, qkv, false);
    attend(i, rows, cache);
    multiply(attended, layer.output, x, true);
    feed_forward(layer, count);
  }
  normalise(x, weights_.norm, normed);
}

void decoder::attend(int64_t index, std::span<const token_row> rows,
                     kv_cache& cache) {
  auto& layer = weights_.layers[static_cast<size_t>(index)];
  auto count = static_cast<int64_t>(rows.size());
  auto width = layer.qkv.view.outputs;
  auto dim = config_.head_dim;
  auto eps = static_cast<float>(config_.rms_norm_eps);
  parallel(count, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      auto& row = rows[static_cast<size_t>(r)];
      float* query = qkv_.data() + r * width;
      float* key = query + config_.query_size();
      auto* cosines = rotary_.cosines(row.position);
      auto* sines = rotary_.sines(row.position);
      for (int64_t h = 0; h < config_.num_heads; ++h)
        cpu().norm_rotate(query + h * dim, layer.query_norm.data(), dim, eps,
                          cosines, sines);
      for (int64_t h = 0; h < config_.num_kv_heads; ++h)
        cpu().norm_rotate(key + h * dim, layer.key_norm.data(), dim, eps,
                          cosines, sines);
      cache.write(index, row.slot, row.position, key, key + config_.kv_size());
    }
  });
  // All of a slot's rows are in the cache before the first one is attended.
  parallel(count, [&](int64_t begin, int64_t end) {
    thread_local kernels::float_buffer scores;
    scores.resize(static_cast<size_t>(cache.shape().capacity));
    for (int64_t r = begin; r < end; ++r) {
      auto& row = rows[static_cast<size_t>(r)];
      cpu().attend({qkv_.data() + r * width, cache.keys(index, row.slot),
                    cache.values(index, row.slot),
                    attended_.data() + r * config_.query_size(),
                    row.position + 1},
                   cache.shape(), scores.data());
    }
  });
}

void decoder::feed_forward(const layer& weights, int64_t rows) {
  auto inner = config_.intermediate_size;
  auto x = view(hidden_, rows, config_.hidden_size);
  auto normed = view(normed_, rows, config_.hidden_size);
  auto gate_up = view(gate_up_, rows, 2 * inner);
  auto product = view(product_, rows, inner);
  normalise(x, weights.output_norm, normed);
  multiply(normed, weights.gate_up, gate_up, false);
  cpu().silu_multiply(gate_up, product, inner);
  multiply(product, weights.down, x, true);
}

std::span<const float> decoder::logits(int64_t first, int64_t count) {
  auto out = view(logits_, count, config_.vocab_size);
  multiply(
    {normed_.data() + first * config_.hidden_size, count, config_.hidden_size},
    weights_.head, out, false);
  return {out.data, static_cast<size_t>(count * config_.vocab_size)};
}

int64_t decoder::logit_rows() const {
  constexpr int64_t logits_at_once = int64_t{1} << 22;
  return std::max<int64_t>(1, logits_at_once / config_.vocab_size);
}

} // namespace swage
