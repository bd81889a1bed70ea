#include "runtime/policy/model_weights.hpp"
#include "runtime/policy/torch_policy.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

// Our half of the benchmark `decode`: reads one request a line, generates, and
// answers in one line with the time, the tokens and their log-probabilities.

namespace {

using namespace swage;
using nlohmann::json;

[[noreturn]] void give_up(const error& reason) {
  std::fprintf(stderr, "bench-decode: %s\n", reason.message.c_str());
  std::exit(3);
}

/// Generates `count` tokens for each prompt.
json generate(generator& policy, const json& request) {
  std::map<uint64_t, sequence_output> outputs;
  auto start = std::chrono::steady_clock::now();
  uint64_t id = 0;
  for (auto& prompt : request["prompts"]) {
    sequence_request next;
    next.id = id;
    next.prompt = prompt.get<std::vector<int32_t>>();
    next.how.max_new_tokens = request["count"];
    next.seed = sample_seed(1, id++, 0, 0);
    if (auto queued = policy.submit(std::move(next)); !queued)
      give_up(queued.error());
  }
  while (policy.pending() > 0)
    for (auto& ended : policy.step())
      outputs[ended.id] = std::move(ended);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now()
                                          - start;
  json answer{{"seconds", seconds.count()}};
  for (auto& [key, output] : outputs) {
    answer["tokens"].push_back(output.tokens);
    answer["logprobs"].push_back(output.logprobs);
  }
  return answer;
}

/// Draws weights and leaves them where the reference finds them.
void write_random_weights(const std::filesystem::path& folder) {
  auto config = load_model_config(folder / "config.json");
  if (!config)
    give_up(config.error());
  auto written = write_weights(random_weights(*config, 1),
                               folder / "model.safetensors");
  if (!written)
    give_up(written.error());
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench-decode FOLDER, with a config.json\n");
    return 2;
  }
  write_random_weights(argv[1]);
  generator_options options{.max_live = 128, .max_tokens = 512, .threads = 1};
  auto policy = make_generator(argv[1], options, 0);
  if (!policy)
    give_up(policy.error());
  for (std::string line; std::getline(std::cin, line);) {
    auto request = json::parse(line);
    auto answer = request.empty() ? json::object()
                                  : generate(**policy, request);
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}
