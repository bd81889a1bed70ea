#include "runtime/policy/torch_policy.hpp"

#include "runtime/policy/cpu_policy.hpp"
#include "runtime/policy/model_weights.hpp"
#include "runtime/policy/torch/gloo_collective.hpp"
#include "runtime/policy/torch/torch_trainer.hpp"

#include <ATen/Parallel.h>

namespace swage {

namespace {

namespace fs = std::filesystem;

/// Runs on LibTorch's threads, so that a process has one pool of them.
parallel_runner on_torch_threads(int threads) {
  if (threads <= 1)
    return {};
  return [threads](int64_t count,
                   const std::function<void(int64_t, int64_t)>& body) {
    // The number belongs to the thread that calls, whichever that is.
    set_torch_threads(threads);
    at::parallel_for(0, count, 1, body);
  };
}

} // namespace

result<std::unique_ptr<generator>>
make_generator(const fs::path& directory, const generator_options& options,
               uint64_t seed) {
  auto config = load_model_config(directory / "config.json");
  if (!config)
    return tl::unexpected<error>(config.error());
  auto weights = open_weights(directory, *config, seed);
  if (!weights)
    return tl::unexpected<error>(weights.error());
  return make_cpu_generator(*config, *weights, options,
                            on_torch_threads(options.threads));
}

result<std::vector<std::unique_ptr<trainer>>>
make_torch_trainers(const fs::path& directory, const optimizer_options& options,
                    uint64_t seed, uint32_t ranks, double deadline_s) {
  std::vector<std::unique_ptr<gloo_collective>> ends(ranks);
  if (ranks > 1) {
    auto connected = gloo_collective::connect(ranks, deadline_s);
    if (!connected)
      return tl::unexpected<error>(connected.error());
    ends = std::move(*connected);
  }
  std::vector<std::unique_ptr<trainer>> out;
  for (auto& end : ends) {
    auto made = torch_trainer::open(directory, options, seed, std::move(end));
    if (!made)
      return tl::unexpected<error>(made.error());
    out.push_back(std::move(*made));
  }
  return out;
}

result<std::unique_ptr<scorer>> make_scorer(const fs::path& directory,
                                            int threads) {
  auto config = load_model_config(directory / "config.json");
  if (!config)
    return tl::unexpected<error>(config.error());
  auto weights = open_weights(directory, *config, 0);
  if (!weights)
    return tl::unexpected<error>(weights.error());
  return make_cpu_scorer(*config, *weights, on_torch_threads(threads));
}

void set_torch_threads(int threads) {
  auto wanted = threads > 0 ? threads : at::intraop_default_num_threads();
  if (at::get_num_threads() != wanted)
    at::set_num_threads(wanted);
}

int torch_threads() {
  return at::get_num_threads();
}

} // namespace swage
