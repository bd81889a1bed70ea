#pragma once

#include "runtime/error.hpp"
#include "runtime/learn/trainer.hpp"
#include "runtime/policy/generator.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace swage {

/// Limits of an in-process generator.
struct generator_options {
  uint32_t max_live = 64;     ///< Sequences decoded at once.
  uint32_t max_tokens = 1024; ///< Prompt and response together.
  bool recompute_cache = false; ///< `kv_on_weight_update = recompute`.
  int threads = 1;            ///< LibTorch threads of the calling thread.
};

/// Opens the policy in `directory` (`config.json`, `tokenizer.json` and, where
/// present, `model.safetensors`; without weights they are drawn from `seed`),
/// to decode on the CPU.
/// Implemented by `swage::torch`; LibTorch is visible in its .cpp files only.
result<std::unique_ptr<generator>>
make_generator(const std::filesystem::path& directory,
               const generator_options& options, uint64_t seed);

struct optimizer_options {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
};

/// One for each of `ranks`, which is 1 or more. Trainers of several ranks share
/// their steps: each computes the gradient of a part of the micro batches, then
/// they are summed, so that all have the same parameters, bit for bit. Each is
/// called on a thread of its own, all with the same samples and options, and
/// waits `deadline_s` for the others.
result<std::vector<std::unique_ptr<trainer>>>
make_torch_trainers(const std::filesystem::path& directory,
                    const optimizer_options& options, uint64_t seed,
                    uint32_t ranks, double deadline_s);

/// Scores on the CPU, as the generator decodes.
result<std::unique_ptr<scorer>>
make_scorer(const std::filesystem::path& directory, int threads);

/// Sets the calling thread's share of LibTorch threads; 0: one per core.
void set_torch_threads(int threads);
int torch_threads();

} // namespace swage
