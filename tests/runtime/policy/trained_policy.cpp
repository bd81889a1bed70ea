#include "tests/runtime/policy/trained_policy.hpp"

#include "tests/runtime/policy/oracle.hpp"
#include "tests/runtime/policy/small_policy.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <random>

namespace swage::test {

using nlohmann::json;
namespace fs = std::filesystem;

void write_config(const fs::path& folder) {
  auto config = small_config();
  json out{{"architectures", {"Qwen3ForCausalLM"}},
           {"vocab_size", config.vocab_size},
           {"hidden_size", config.hidden_size},
           {"intermediate_size", config.intermediate_size},
           {"num_hidden_layers", config.num_layers},
           {"num_attention_heads", config.num_heads},
           {"num_key_value_heads", config.num_kv_heads},
           {"head_dim", config.head_dim},
           {"max_position_embeddings", config.max_positions},
           {"initializer_range", config.initializer_range},
           {"tie_word_embeddings", true},
           {"eos_token_id", 3}};
  write_file(folder / "config.json", out.dump());
  write_file(folder / "tokenizer.json", "{\"copied\": \"as it is\"}");
}

std::unique_ptr<torch_trainer>
small_trainer(std::unique_ptr<gloo_collective> others) {
  temporary_folder folder;
  write_config(folder.path());
  return value_of(torch_trainer::open(folder.path(), {}, 5, std::move(others)));
}

std::vector<train_sample> some_samples(torch_trainer& trainer, int count,
                                       int32_t vocabulary) {
  std::mt19937 engine{7};
  std::uniform_int_distribution<int32_t> token{0, vocabulary - 1};
  std::normal_distribution<float> noise{0, 0.25f};
  std::vector<train_sample> out;
  for (int i = 0; i < count; ++i) {
    train_sample sample;
    for (int t = 0; t < 3 + i % 4; ++t)
      sample.prompt.push_back(token(engine));
    for (int t = 0; t < 1 + (5 * i) % 17; ++t)
      sample.response.push_back(token(engine));
    sample.advantage = (i % 2 ? 1 : -1) * (0.3 + 0.2 * i);
    sample.group = static_cast<uint64_t>(i % 3);
    scored_sequence sequence{sample.prompt, sample.response};
    auto scores = value_of(trainer.score({&sequence, 1}, 0.9f));
    for (float score : scores[0])
      sample.behaviour.push_back(score + noise(engine));
    out.push_back(std::move(sample));
  }
  return out;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = d > worst || std::isnan(d) ? d : worst;
  }
  return worst;
}

} // namespace swage::test
