#include "tests/support/chained_policy.hpp"

#include "runtime/buffer/seeded.hpp"
#include "tests/support/counting_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace swage::test {

namespace {

/// More than one chunk of a pull.
constexpr size_t copies = 6;

int32_t positive(uint64_t x) {
  return static_cast<int32_t>(x & 0x7fffffff);
}

/// log pi of one token; other weights are a little off.
float logprob(uint64_t weights, uint64_t prompt, uint64_t mark, size_t at) {
  return static_cast<float>(-1 - 0.04 * uniform(mix({weights, prompt, mark,
                                                     at})));
}

std::vector<std::vector<float>>
score_all(uint64_t weights, std::span<const scored_sequence> sequences) {
  std::vector<std::vector<float>> out;
  for (auto& one : sequences) {
    auto& row = out.emplace_back();
    for (size_t i = 0; i < one.response.size(); ++i)
      row.push_back(logprob(weights, static_cast<uint64_t>(one.prompt[0]),
                            static_cast<uint64_t>(one.response[0]), i));
  }
  return out;
}

uint64_t hash_of(const std::vector<int32_t>& tokens) {
  return XXH3_64bits(tokens.data(), tokens.size() * sizeof(int32_t));
}

snapshot make_snapshot(uint64_t version, uint64_t weights) {
  std::vector<std::byte> bytes(copies * sizeof(weights));
  for (size_t i = 0; i < copies; ++i)
    std::memcpy(bytes.data() + i * sizeof(weights), &weights, sizeof(weights));
  return snapshot_of(version, std::move(bytes));
}

} // namespace

uint64_t weights_of(const snapshot& what) {
  uint64_t out = 0;
  std::memcpy(&out, what.data->data(), sizeof(out));
  return out;
}

result<void> chained_generator::submit(sequence_request request) {
  if (request.how.max_new_tokens == 0)
    return fail(ec::invalid_argument, "no room for a response");
  auto& one = live_[request.id];
  one.seed = request.seed;
  one.length = std::min<uint32_t>(
    request.how.max_new_tokens,
    3 + static_cast<uint32_t>(mix({request.seed, 1}) % longest_));
  one.out.id = request.id;
  one.out.tokens = {positive(request.seed), request.prompt[0]};
  return {};
}

std::vector<sequence_output> chained_generator::step() {
  std::vector<sequence_output> done;
  for (auto i = live_.begin(); i != live_.end();) {
    auto& [out, seed, length] = i->second;
    const auto at = out.logprobs.size();
    if (at >= 2)
      out.tokens.push_back(positive(mix({seed, weights_, at})));
    out.logprobs.push_back(
      logprob(weights_, static_cast<uint64_t>(out.tokens[1]),
              static_cast<uint64_t>(out.tokens[0]), at));
    if (!out.versions.empty() && out.versions.back().version == version_)
      ++out.versions.back().count;
    else
      out.versions.push_back({version_, 1});
    const auto full = out.logprobs.size() >= length;
    if (full)
      done.push_back(std::move(out));
    i = full ? live_.erase(i) : std::next(i);
  }
  return done;
}

result<void> chained_generator::load(const snapshot& from) {
  if (!is_whole(from))
    return fail(ec::corrupt, "torn snapshot");
  version_ = from.what.version;
  weights_ = weights_of(from);
  if (on_load)
    on_load(version_, weights_);
  return {};
}

result<std::vector<std::vector<float>>>
chained_generator::score(std::span<const scored_sequence> sequences, float) {
  return score_all(weights_, sequences);
}

result<void> chained_scorer::load(const snapshot& from) {
  if (!is_whole(from))
    return fail(ec::corrupt, "torn snapshot");
  version_ = from.what.version;
  weights_ = weights_of(from);
  return {};
}

result<std::vector<std::vector<float>>>
chained_scorer::score(std::span<const scored_sequence> sequences, float) {
  return score_all(weights_, sequences);
}

result<step_report> chained_trainer::step(std::span<const train_sample> samples,
                                          const train_options& options) {
  step_report out;
  std::vector<trained_key> keys;
  auto next = mix({weights_, static_cast<uint64_t>(options.what),
                   std::bit_cast<uint64_t>(options.lr)});
  for (auto& one : samples) {
    keys.emplace_back(one.prompt[0], one.response[0]);
    ++out.samples;
    out.kept += one.kept ? 1 : 0;
    if (!one.kept)
      continue;
    next = mix({next, hash_of(one.prompt), hash_of(one.response),
                XXH3_64bits(one.behaviour.data(),
                            one.behaviour.size() * sizeof(float)),
                XXH3_64bits(one.weights.data(),
                            one.weights.size() * sizeof(float)),
                std::bit_cast<uint64_t>(one.advantage)});
  }
  out.stepped = out.kept > 0;
  if (!out.stepped)
    next = weights_;
  if (on_step && !on_step(keys, next))
    return fail(ec::infra, "the process dies in this step");
  weights_ = next;
  return out;
}

snapshot chained_trainer::copy_weights(uint64_t version) {
  if (on_copy)
    on_copy(version, weights_);
  return make_snapshot(version, weights_);
}

result<void> chained_trainer::save(const std::filesystem::path& directory) {
  std::ofstream{directory / "weights"} << weights_;
  if (on_save && !on_save(weights_))
    return fail(ec::infra, "the process dies in this checkpoint");
  return {};
}

result<void> chained_trainer::load(const std::filesystem::path& directory) {
  std::ifstream file{directory / "weights"};
  if (!(file >> weights_))
    return fail(ec::corrupt, "no weights in " + directory.string());
  if (on_load)
    on_load(std::stoull(directory.filename().string().substr(1)), weights_);
  return {};
}

rollout_tools chained_tools() {
  rollout_tools out;
  out.first_prompt = [](const grant& from) {
    return std::vector<int32_t>{static_cast<int32_t>(from.work.id), 0};
  };
  out.next_prompt = [](const grant& from, const trajectory& so_far) {
    return std::vector<int32_t>{static_cast<int32_t>(from.work.id),
                                static_cast<int32_t>(so_far.turns.size())};
  };
  out.decode = [](const std::vector<int32_t>& tokens) {
    return fmt::format("{}", fmt::join(tokens, " "));
  };
  out.encode_response = [](const std::string& text) {
    auto hash = XXH3_64bits(text.data(), text.size());
    return std::vector<int32_t>{positive(hash), positive(hash >> 32)};
  };
  out.solutions = [](const task& what) {
    std::vector<std::string> all;
    for (int i = 0; i < 3; ++i)
      all.push_back(fmt::format("solution of {} {}", what.id, i));
    return all;
  };
  out.score = [](const verdict& v) {
    if (v.ok())
      return 1 + 0.5 * (v.speedup - 1);
    return v.kind == category::correctness_tolerance
             ? -0.5 + 0.5 * v.pass_fraction
             : -1.0;
  };
  out.feedback = [](const verdict& v, uint32_t round) {
    return fmt::format("round {}: {}", round, to_string(v.kind));
  };
  out.ret = [](const std::vector<double>& scores) { return scores.front(); };
  return out;
}

} // namespace swage::test
