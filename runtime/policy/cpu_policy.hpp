#pragma once

#include "runtime/error.hpp"
#include "runtime/learn/trainer.hpp"
#include "runtime/policy/decoder.hpp"
#include "runtime/policy/generator.hpp"
#include "runtime/policy/torch_policy.hpp"

#include <memory>

namespace swage {

/// A generator on the kernels of this machine's CPU. Its log-probabilities
/// depend on the sequence alone, bit for bit: not on the batch, the slot or
/// the number of threads.
result<std::unique_ptr<generator>>
make_cpu_generator(const model_config& config, const snapshot& weights,
                   const generator_options& options,
                   parallel_runner parallel = {});

/// A scorer by the same forward pass.
result<std::unique_ptr<scorer>> make_cpu_scorer(const model_config& config,
                                                const snapshot& weights,
                                                parallel_runner parallel = {});

} // namespace swage
