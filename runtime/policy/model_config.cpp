#include "runtime/policy/model_config.hpp"

#include "runtime/policy/mapped_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace swage {

namespace {

using nlohmann::json;

/// Reads values by key and remembers the first that is wrong.
class reader {
public:
  explicit reader(const json& root) : root_(root) {}

  void count(const char* key, int64_t& out, bool required = true) {
    if (!has(key, required))
      return;
    auto& value = root_[key];
    if (!value.is_number_integer() || value.get<int64_t>() <= 0
        || value.get<int64_t>() > (int64_t{1} << 31))
      return wrong(key, "a positive integer");
    out = value;
  }

  void number(const json& from, const char* key, double& out) {
    if (!from.contains(key) || from[key].is_null())
      return;
    if (!from[key].is_number() || !(from[key].get<double>() > 0))
      return wrong(key, "a positive number");
    out = from[key];
  }

  void flag(const char* key, bool& out) {
    if (!has(key, false))
      return;
    if (!root_[key].is_boolean())
      return wrong(key, "true or false");
    out = root_[key];
  }

  /// An integer or a list of integers.
  void tokens(const char* key, std::vector<int32_t>& out) {
    if (!has(key, false))
      return;
    auto list = root_[key].is_array() ? root_[key] : json::array({root_[key]});
    for (auto& value : list) {
      if (!value.is_number_integer())
        return wrong(key, "a token id or a list of token ids");
      out.push_back(value.get<int32_t>());
    }
  }

  const std::string& failure() const { return failure_; }

private:
  bool has(const char* key, bool required) {
    if (root_.contains(key) && !root_[key].is_null())
      return true;
    if (required)
      wrong(key, "to be there");
    return false;
  }

  void wrong(const char* key, const char* expected) {
    if (failure_.empty())
      failure_ = fmt::format("expected '{}' {}{}, found {}", key,
                             root_.contains(key) ? "to be " : "", expected,
                             root_.contains(key) ? root_[key].dump()
                                                 : "nothing");
  }

  const json& root_;
  std::string failure_;
};

/// Empty, or the feature that the file asks for and that is not built.
std::string unsupported_feature(const json& root) {
  auto is = [&](const char* key) {
    return root.contains(key) && root[key].is_boolean() && root[key];
  };
  if (is("attention_bias"))
    return "attention_bias";
  if (is("use_sliding_window"))
    return "use_sliding_window";
  if (root.contains("quantization_config"))
    return "quantization_config";
  if (root.value("hidden_act", json("silu")) != "silu")
    return fmt::format("hidden_act {}", root["hidden_act"].dump());
  for (auto* key : {"rope_scaling", "rope_parameters"}) {
    if (!root.contains(key) || !root[key].is_object())
      continue;
    auto& rope = root[key];
    for (auto* name : {"rope_type", "type"})
      if (rope.contains(name) && rope[name] != "default")
        return fmt::format("{} of type {}", key, rope[name].dump());
  }
  return {};
}

std::string architecture_of(const json& root) {
  if (root.contains("architectures") && root["architectures"].is_array()
      && root["architectures"].size() == 1
      && root["architectures"][0].is_string())
    return root["architectures"][0];
  if (root.contains("model_type") && root["model_type"].is_string())
    return root["model_type"] == "qwen3"
             ? "Qwen3ForCausalLM"
             : root["model_type"].get<std::string>();
  return "(none)";
}

std::string read(const json& root, model_config& out) {
  reader from{root};
  from.count("vocab_size", out.vocab_size);
  from.count("hidden_size", out.hidden_size);
  from.count("intermediate_size", out.intermediate_size);
  from.count("num_hidden_layers", out.num_layers);
  from.count("num_attention_heads", out.num_heads);
  out.num_kv_heads = out.num_heads;
  from.count("num_key_value_heads", out.num_kv_heads, false);
  out.head_dim = out.num_heads > 0 ? out.hidden_size / out.num_heads : 0;
  from.count("head_dim", out.head_dim, false);
  out.max_positions = 32768;
  from.count("max_position_embeddings", out.max_positions, false);
  from.number(root, "rope_theta", out.rope_theta);
  // Where newer files keep it.
  if (root.contains("rope_parameters") && root["rope_parameters"].is_object())
    from.number(root["rope_parameters"], "rope_theta", out.rope_theta);
  from.number(root, "rms_norm_eps", out.rms_norm_eps);
  from.number(root, "initializer_range", out.initializer_range);
  from.flag("tie_word_embeddings", out.tie_word_embeddings);
  from.tokens("eos_token_id", out.eos_tokens);
  if (!from.failure().empty())
    return from.failure();
  if (out.num_heads % out.num_kv_heads != 0)
    return fmt::format("num_attention_heads {} is not a multiple of "
                       "num_key_value_heads {}",
                       out.num_heads, out.num_kv_heads);
  if (out.head_dim % 2 != 0)
    return fmt::format("head_dim {} is odd; rotary embedding needs pairs",
                       out.head_dim);
  for (auto token : out.eos_tokens)
    if (token < 0 || token >= out.vocab_size)
      return fmt::format("eos_token_id {} is outside the vocabulary of {}",
                         token, out.vocab_size);
  return {};
}

} // namespace

result<model_config> load_model_config(const std::filesystem::path& file) {
  auto text = read_text(file);
  if (!text)
    return tl::unexpected<error>(text.error());
  auto root = json::parse(*text, nullptr, false);
  if (!root.is_object())
    return fail(ec::corrupt,
                fmt::format("'{}' is not a JSON object", file.string()));
  model_config out;
  out.architecture = architecture_of(root);
  if (out.architecture != "Qwen3ForCausalLM")
    return fail(ec::unsupported,
                fmt::format("'{}': architecture {} is not supported; "
                            "Qwen3ForCausalLM is",
                            file.string(), out.architecture));
  if (auto feature = unsupported_feature(root); !feature.empty())
    return fail(ec::unsupported, fmt::format("'{}': {} is not supported",
                                             file.string(), feature));
  if (auto wrong = read(root, out); !wrong.empty())
    return fail(ec::corrupt, fmt::format("'{}': {}", file.string(), wrong));
  return out;
}

std::vector<tensor_entry> parameter_layout(const model_config& config) {
  std::vector<tensor_entry> out;
  uint64_t offset = 0;
  auto add = [&](std::string name, std::vector<int64_t> shape) {
    uint64_t bytes = sizeof(float);
    for (auto size : shape)
      bytes *= static_cast<uint64_t>(size);
    out.push_back({std::move(name), "F32", std::move(shape), offset, bytes});
    offset += bytes;
  };
  auto hidden = config.hidden_size;
  add("model.embed_tokens.weight", {config.vocab_size, hidden});
  for (int64_t i = 0; i < config.num_layers; ++i) {
    auto layer = fmt::format("model.layers.{}.", i);
    add(layer + "input_layernorm.weight", {hidden});
    add(layer + "self_attn.q_proj.weight", {config.query_size(), hidden});
    add(layer + "self_attn.k_proj.weight", {config.kv_size(), hidden});
    add(layer + "self_attn.v_proj.weight", {config.kv_size(), hidden});
    add(layer + "self_attn.q_norm.weight", {config.head_dim});
    add(layer + "self_attn.k_norm.weight", {config.head_dim});
    add(layer + "self_attn.o_proj.weight", {hidden, config.query_size()});
    add(layer + "post_attention_layernorm.weight", {hidden});
    add(layer + "mlp.gate_proj.weight", {config.intermediate_size, hidden});
    add(layer + "mlp.up_proj.weight", {config.intermediate_size, hidden});
    add(layer + "mlp.down_proj.weight", {hidden, config.intermediate_size});
  }
  add("model.norm.weight", {hidden});
  if (!config.tie_word_embeddings)
    add("lm_head.weight", {config.vocab_size, hidden});
  return out;
}

} // namespace swage
