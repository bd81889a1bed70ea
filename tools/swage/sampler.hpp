#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/policy/generator.hpp"
#include "runtime/policy/rollout_core.hpp"
#include "runtime/store/checkpoint.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace swage {

/// The given folder if it holds a model, else the newest valid checkpoint of
/// the run in it. Files are checked against the manifest; a model without one
/// has version 0. `not_found` says what is lacking.
result<checkpoint_info> find_checkpoint(const std::filesystem::path& at);

/// The configuration of the run that a checkpoint is of; nothing if it is of
/// none.
result<std::optional<config>>
config_of_run(const std::filesystem::path& checkpoint);

/// How a configuration's evaluations are drawn.
sampling eval_sampling(const config& settings);

/// A response to a task's prompt.
struct response {
  uint64_t item = 0; ///< As given to `ask`.
  uint32_t index = 0;
  std::string text;
};

/// Draws responses from a checkpoint by continuous batching, outside of a run.
class sampler {
public:
  /// @param checkpoint Folder with config.json, tokenizer.json and weights.
  static result<sampler> open(const std::filesystem::path& checkpoint,
                              const config& settings);

  /// Queues `samples` responses. The seeds follow from `how.seed`, the item
  /// and the index.
  result<void> ask(const task& what, uint64_t item, uint32_t samples,
                   const sampling& how);

  /// Decodes until everything asked for is there. `on_progress(done, total)`
  /// is called after each step.
  std::vector<response>
  run(const std::function<void(size_t, size_t)>& on_progress);

private:
  struct key {
    uint64_t item;
    uint32_t index;
  };

  std::unique_ptr<generator> policy_;
  rollout_tools tools_;
  std::map<uint64_t, key> asked_; ///< By the sequence's id.
  uint64_t next_ = 1;
};

} // namespace swage
