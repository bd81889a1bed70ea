#include "runtime/policy/model_config.hpp"
#include "runtime/policy/model_weights.hpp"
#include "tests/runtime/policy/oracle.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace swage;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

json valid() {
  return {{"architectures", {"Qwen3ForCausalLM"}},
          {"vocab_size", 100},
          {"hidden_size", 32},
          {"intermediate_size", 64},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 16},
          {"rope_theta", 1000000},
          {"tie_word_embeddings", true},
          {"torch_dtype", "bfloat16"},
          {"eos_token_id", 5}};
}

result<model_config> load(const json& content) {
  test::temporary_folder folder;
  test::write_file(folder.path() / "config.json", content.dump());
  return load_model_config(folder.path() / "config.json");
}

json with(const char* key, json value) {
  auto out = valid();
  out[key] = std::move(value);
  return out;
}

json without(const char* key) {
  auto out = valid();
  out.erase(key);
  return out;
}

} // namespace

TEST_CASE("a Qwen3 configuration is read whole", "[policy][config]") {
  auto config = load(valid());
  REQUIRE(config);
  CHECK(config->query_size() == 64);
  CHECK(config->kv_size() == 32);
  CHECK(config->rope_theta == 1e6);
  CHECK(config->tie_word_embeddings);
  CHECK(config->eos_tokens == std::vector<int32_t>{5});
}

TEST_CASE("end tokens may be a list or missing", "[policy][config]") {
  CHECK(load(with("eos_token_id", {3, 4}))->eos_tokens
        == std::vector<int32_t>{3, 4});
  CHECK(load(without("eos_token_id"))->eos_tokens.empty());
}

TEST_CASE("newer files keep theta among rope parameters", "[policy][config]") {
  auto content = without("rope_theta");
  content["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  CHECK(load(content)->rope_theta == 5e5);
}

TEST_CASE("another architecture is refused by its name", "[policy][config]") {
  auto refused = load(with("architectures", {"LlamaForCausalLM"}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ec::unsupported);
  CHECK_THAT(refused.error().message,
             ContainsSubstring("LlamaForCausalLM")
               && ContainsSubstring("Qwen3ForCausalLM is"));
}

TEST_CASE("features that are not built are named", "[policy][config]") {
  auto check = [](const json& content, const char* what) {
    auto refused = load(content);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ec::unsupported);
    CHECK_THAT(refused.error().message, ContainsSubstring(what));
  };
  check(with("attention_bias", true), "attention_bias");
  check(with("use_sliding_window", true), "use_sliding_window");
  check(with("hidden_act", "gelu"), "gelu");
  check(with("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}), "yarn");
  check(with("quantization_config", json::object()), "quantization_config");
}

TEST_CASE("a wrong value names its key and itself", "[policy][config]") {
  auto check = [](const json& content, const char* what) {
    auto refused = load(content);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ec::corrupt);
    CHECK_THAT(refused.error().message, ContainsSubstring(what));
  };
  check(without("vocab_size"), "'vocab_size' to be there");
  check(with("hidden_size", "big"), "'hidden_size' to be a positive integer");
  check(with("num_hidden_layers", 0), "found 0");
  check(with("num_key_value_heads", 3), "not a multiple");
  check(with("head_dim", 15), "odd");
  check(with("eos_token_id", 100), "outside the vocabulary");
  check(with("rms_norm_eps", -1), "rms_norm_eps");
}

TEST_CASE("weights drawn from a seed are reproducible", "[policy][weights]") {
  auto config = load(valid());
  auto a = random_weights(*config, 3), b = random_weights(*config, 3);
  auto c = random_weights(*config, 4);
  CHECK(a.what.checksum == b.what.checksum);
  CHECK(a.what.checksum != c.what.checksum);
  auto tensors = tensors_of(a, *config);
  REQUIRE(tensors);
  CHECK(tensors->at("model.norm.weight")[0] == 1);
  double sum = 0, squares = 0;
  auto embedding = tensors->at("model.embed_tokens.weight");
  for (double value : embedding) {
    sum += value;
    squares += value * value;
  }
  auto count = static_cast<double>(embedding.size());
  CHECK(std::abs(sum / count) < 0.002);
  CHECK(std::abs(std::sqrt(squares / count) - 0.02) < 0.001);
}

TEST_CASE("a damaged or foreign snapshot is refused", "[policy][weights]") {
  auto config = load(valid());
  auto whole = random_weights(*config, 3);
  auto damaged = whole;
  auto bytes = *whole.data;
  bytes[100] ^= std::byte{1};
  damaged.data = std::make_shared<const std::vector<std::byte>>(
    std::move(bytes));
  CHECK(tensors_of(damaged, *config).error().code == ec::corrupt);
  auto other = *config;
  other.intermediate_size = 48;
  auto refused = tensors_of(whole, other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ec::invalid_argument);
  CHECK_THAT(refused.error().message, ContainsSubstring("mlp.gate_proj"));
}

TEST_CASE("a checkpoint that lacks a tensor names it", "[policy][weights]") {
  test::temporary_folder folder;
  auto config = load(valid());
  auto larger = *config;
  larger.num_layers = 3;
  REQUIRE(write_weights(random_weights(*config, 1),
                        folder.path() / "model.safetensors"));
  auto opened = open_weights(folder.path(), larger, 0);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::corrupt);
  CHECK_THAT(opened.error().message, ContainsSubstring("model.layers.2."));
  auto other = *config;
  other.vocab_size = 90;
  CHECK_THAT(open_weights(folder.path(), other, 0).error().message,
             ContainsSubstring("[100, 32], config.json makes it [90, 32]"));
}
