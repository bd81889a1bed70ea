#include "runtime/policy/decoder.hpp"
#include "runtime/policy/model_weights.hpp"
#include "runtime/policy/safetensors.hpp"
#include "tests/runtime/policy/oracle.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>
#include <cstring>

using namespace swage;
using Catch::Matchers::WithinAbs;

TEST_CASE("logits are those of the Hugging Face model", "[policy][decoder]") {
  auto options = GENERATE(std::vector<std::string>{},
                          std::vector<std::string>{"untied", "shards"},
                          std::vector<std::string>{"bfloat16"});
  test::temporary_folder folder;
  std::vector<std::string> arguments{"model", folder.path().string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  test::run_oracle(arguments);

  auto config = load_model_config(folder.path() / "config.json");
  REQUIRE(config);
  auto weights = open_weights(folder.path(), *config, 0);
  REQUIRE(weights);
  decoder model{*config};
  REQUIRE(model.load(*weights));

  auto file = safetensors_file::open(folder.path() / "expected.safetensors");
  REQUIRE(file);
  auto tokens = file->find("tokens"), logits = file->find("logits");
  REQUIRE(tokens);
  REQUIRE(logits);
  auto sequences = tokens->shape[0], length = tokens->shape[1];
  std::vector<int64_t> ids(static_cast<size_t>(sequences * length));
  std::memcpy(ids.data(), tokens->data.data(), tokens->data.size());
  std::vector<float> expected(ids.size()
                              * static_cast<size_t>(config->vocab_size));
  REQUIRE(to_float32(*logits, expected));

  // Half of each sequence at once, the rest one token a step.
  kv_cache cache{*config, sequences, length};
  double worst = 0;
  auto compare = [&](const std::vector<token_row>& rows) {
    model.forward(rows, cache);
    auto found = model.logits(0, static_cast<int64_t>(rows.size()));
    auto width = static_cast<size_t>(config->vocab_size);
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t i = 0; i < width; ++i) {
        auto at = static_cast<size_t>(rows[r].slot * length + rows[r].position);
        double d = std::abs(static_cast<double>(found[r * width + i])
                            - static_cast<double>(expected[at * width + i]));
        worst = d > worst || std::isnan(d) ? d : worst;
      }
  };
  auto row = [&](int64_t s, int64_t p) {
    return token_row{
      static_cast<int32_t>(s), static_cast<int32_t>(p),
      static_cast<int32_t>(ids[static_cast<size_t>(s * length + p)])};
  };
  std::vector<token_row> rows;
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t p = 0; p < length / 2; ++p)
      rows.push_back(row(s, p));
  compare(rows);
  for (int64_t p = length / 2; p < length; ++p) {
    rows.clear();
    for (int64_t s = 0; s < sequences; ++s)
      rows.push_back(row(s, p));
    compare(rows);
  }
  CHECK_THAT(worst, WithinAbs(0, 1e-4));
}
