#pragma once

#include "runtime/error.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swage {

/// A Qwen3 dense model, as a Hugging Face `config.json` describes it.
struct model_config {
  std::string architecture = "Qwen3ForCausalLM";
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;
  double rope_theta = 10000;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  std::vector<int32_t> eos_tokens; ///< Empty: nothing ends a response early.

  int64_t query_size() const { return num_heads * head_dim; }
  int64_t kv_size() const { return num_kv_heads * head_dim; }
};

/// Reads `config.json`. Fails with `ec::unsupported` for another architecture
/// or a feature that is not built (and names it), with `ec::corrupt` for a
/// value that is missing, of the wrong type or contradicts another.
result<model_config> load_model_config(const std::filesystem::path& file);

/// Every parameter with its place in the flat float32 buffer of a snapshot,
/// named as in Hugging Face checkpoints.
std::vector<tensor_entry> parameter_layout(const model_config& config);

} // namespace swage
