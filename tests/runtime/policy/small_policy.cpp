#include "tests/runtime/policy/small_policy.hpp"

namespace swage::test {

model_config small_config() {
  model_config out;
  out.vocab_size = 61;
  out.hidden_size = 40;
  out.intermediate_size = 70;
  out.num_layers = 2;
  out.num_heads = 4;
  out.num_kv_heads = 2;
  out.head_dim = 20;
  out.max_positions = 256;
  out.initializer_range = 0.3; // Far from uniform, so that weights matter.
  out.tie_word_embeddings = true;
  out.eos_tokens = {3};
  return out;
}

sequence_request small_request(uint64_t id, uint64_t group) {
  sequence_request out;
  out.id = id;
  for (uint64_t i = 0; i < 5 + group % 20; ++i)
    out.prompt.push_back(static_cast<int32_t>((7 * group + 11 * i) % 61));
  out.how.max_new_tokens = 30;
  out.seed = sample_seed(1, group, static_cast<uint32_t>(id), 0);
  return out;
}

std::map<uint64_t, sequence_output> run_all(generator& from) {
  std::map<uint64_t, sequence_output> out;
  while (from.pending() > 0)
    for (auto& ended : from.step())
      out[ended.id] = std::move(ended);
  return out;
}

} // namespace swage::test
