#include "runtime/policy/torch/qwen3_network.hpp"

#include "runtime/policy/torch/fused_ops.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>

namespace swage {

using at::Tensor;

namespace {

/// The parameters of a layer. Matrices that read the same input lie side by
/// side in the flat buffer and are multiplied as one.
struct layer_parameters {
  Tensor input_norm, qkv, query_norm, key_norm, output, output_norm, gate_up,
    down;
};

} // namespace

struct qwen3_network::impl {
  explicit impl(const model_config& c, std::span<const float> values)
    : config(c), rotary(c.head_dim, c.rope_theta) {
    flat = at::empty({static_cast<int64_t>(values.size())}, at::kFloat);
    std::copy(values.begin(), values.end(), flat.data_ptr<float>());
    gradient = at::zeros_like(flat);
    for (auto& entry : parameter_layout(config))
      layout[entry.name] = entry;
    embedding = leaf({"model.embed_tokens.weight"}, config.hidden_size);
    norm = leaf({"model.norm.weight"});
    head = config.tie_word_embeddings
             ? embedding
             : leaf({"lm_head.weight"}, config.hidden_size);
    for (int64_t i = 0; i < config.num_layers; ++i)
      layers.push_back(make_layer("model.layers." + std::to_string(i) + "."));
  }

  layer_parameters make_layer(const std::string& at) {
    auto hidden = config.hidden_size;
    layer_parameters out;
    out.input_norm = leaf({at + "input_layernorm.weight"});
    out.qkv = leaf({at + "self_attn.q_proj.weight",
                    at + "self_attn.k_proj.weight",
                    at + "self_attn.v_proj.weight"},
                   hidden);
    out.query_norm = leaf({at + "self_attn.q_norm.weight"});
    out.key_norm = leaf({at + "self_attn.k_norm.weight"});
    out.output = leaf({at + "self_attn.o_proj.weight"}, config.query_size());
    out.output_norm = leaf({at + "post_attention_layernorm.weight"});
    out.gate_up = leaf({at + "mlp.gate_proj.weight", at + "mlp.up_proj.weight"},
                       hidden);
    out.down = leaf({at + "mlp.down_proj.weight"}, config.intermediate_size);
    return out;
  }

  /// Neighbours in the flat buffer as one parameter: a matrix with `columns`,
  /// or a vector. Its gradient accumulates in place.
  Tensor leaf(std::initializer_list<std::string> names, int64_t columns = 0) {
    auto first = layout.at(*names.begin()).offset / sizeof(float);
    uint64_t count = 0;
    for (auto& name : names) {
      auto& entry = layout.at(name);
      TORCH_CHECK(entry.offset / sizeof(float) == first + count,
                  "parameters that are multiplied as one must be neighbours");
      count += entry.bytes / sizeof(float);
    }
    auto part = [&](const Tensor& whole) {
      auto out = whole.narrow(0, static_cast<int64_t>(first),
                              static_cast<int64_t>(count));
      return columns ? out.view({-1, columns}) : out;
    };
    auto out = part(flat).detach();
    out.requires_grad_(true);
    out.mutable_grad() = part(gradient);
    return out;
  }

  Tensor run(const layer_parameters& layer, const Tensor& x,
             const padded_batch& batch) {
    auto eps = config.rms_norm_eps;
    auto qkv = fused::linear(fused::rms_norm(x, layer.input_norm, eps),
                             layer.qkv);
    auto attended = fused::attention(
      fused::split_heads(qkv, layer.query_norm, layer.key_norm,
                         {config.num_heads, config.num_kv_heads,
                          config.head_dim, batch.length, eps, &rotary}),
      batch.length);
    auto after = fused::linear(attended, layer.output, x);
    auto gate_up = fused::linear(fused::rms_norm(after, layer.output_norm, eps),
                                 layer.gate_up);
    return fused::linear(fused::gated_unit(gate_up), layer.down, after);
  }

  Tensor logits(const padded_batch& batch) {
    rotary.grow(batch.length);
    auto x = at::embedding(embedding, at::tensor(batch.tokens, at::kLong));
    for (auto& layer : layers)
      x = run(layer, x, batch);
    auto wanted = x.index_select(0, at::tensor(batch.rows, at::kLong));
    return fused::linear(fused::rms_norm(wanted, norm, config.rms_norm_eps),
                         head);
  }

  model_config config;
  rotary_table rotary;
  Tensor flat, gradient;
  std::map<std::string, tensor_entry> layout;
  Tensor embedding, norm, head;
  std::vector<layer_parameters> layers;
};

qwen3_network::qwen3_network(const model_config& config,
                             std::span<const float> flat)
  : impl_(std::make_unique<impl>(config, flat)) {
  // nop
}

qwen3_network::~qwen3_network() = default;

const model_config& qwen3_network::config() const {
  return impl_->config;
}

std::span<float> qwen3_network::parameters() {
  return {impl_->flat.data_ptr<float>(),
          static_cast<size_t>(impl_->flat.numel())};
}

std::span<float> qwen3_network::gradients() {
  return {impl_->gradient.data_ptr<float>(),
          static_cast<size_t>(impl_->gradient.numel())};
}

Tensor qwen3_network::logits(const padded_batch& batch) {
  return impl_->logits(batch);
}

} // namespace swage
