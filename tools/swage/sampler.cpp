#include "tools/swage/sampler.hpp"

#include "runtime/config/load_config.hpp"
#include "runtime/policy/rollout_tools.hpp"
#include "runtime/policy/tokenizer.hpp"
#include "runtime/policy/torch_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace swage {

namespace fs = std::filesystem;

namespace {

constexpr uint32_t most_checkpoints = 1'000'000;

constexpr std::string_view model_files[] = {"config.json", "tokenizer.json",
                                            "model.safetensors"};

result<void> check_model(const fs::path& folder) {
  std::error_code failed;
  for (auto name : model_files)
    if (!fs::exists(folder / name, failed))
      return fail(ec::not_found,
                  fmt::format("{} is not a checkpoint: it has no {}",
                              folder.string(), name));
  return {};
}

} // namespace

sampling eval_sampling(const config& settings) {
  auto& rollout = settings.rollout;
  return {.temperature = static_cast<float>(rollout.eval_temperature),
          .top_p = static_cast<float>(rollout.eval_top_p),
          .max_new_tokens = rollout.max_new_tokens,
          .seed = settings.run.seed};
}

result<checkpoint_info> find_checkpoint(const fs::path& at) {
  std::error_code failed;
  if (!fs::is_directory(at, failed))
    return fail(ec::not_found,
                fmt::format("expected a checkpoint or a run's folder at {}, "
                            "found none",
                            at.string()));
  auto whole = fs::absolute(at).lexically_normal();
  if (!whole.has_filename()) // A last '/' would hide the run's folder.
    whole = whole.parent_path();
  if (!fs::is_directory(whole / "checkpoints", failed)) {
    if (auto ok = check_model(whole); !ok)
      return tl::unexpected{ok.error()};
    if (!checkpoint_store::is_checkpoint(whole))
      return checkpoint_info{.directory = whole};
    return checkpoint_store::open(whole, model_files);
  }
  std::vector<std::string> rejected;
  checkpoint_store store{whole / "checkpoints", most_checkpoints};
  auto newest = store.newest_valid(&rejected, model_files);
  if (!newest)
    return fail(ec::not_found,
                fmt::format("the run in {} has no valid checkpoint yet{}{}",
                            whole.string(), rejected.empty() ? "" : ": ",
                            fmt::join(rejected, "; ")));
  return *newest;
}

result<std::optional<config>> config_of_run(const fs::path& checkpoint) {
  auto run = checkpoint.parent_path().parent_path() / "config.toml";
  std::error_code failed;
  if (!fs::exists(run, failed))
    return std::nullopt;
  return load_config(run);
}

result<sampler> sampler::open(const fs::path& checkpoint,
                              const config& settings) {
  if (auto ok = check_model(checkpoint); !ok)
    return tl::unexpected{ok.error()};
  auto tokens = tokenizer::load(checkpoint / "tokenizer.json");
  if (!tokens)
    return tl::unexpected{tokens.error()};
  auto policy = make_generator(checkpoint,
                               {.max_live = settings.rollout.max_live,
                                .max_tokens = settings.policy.max_tokens,
                                .recompute_cache = false,
                                .threads = settings.rollout.threads},
                               settings.run.seed);
  if (!policy)
    return tl::unexpected{policy.error()};
  sampler made;
  made.policy_ = std::move(*policy);
  made.tools_ = make_rollout_tools(
    settings, std::make_shared<const tokenizer>(std::move(*tokens)));
  return made;
}

result<void> sampler::ask(const task& what, uint64_t item, uint32_t samples,
                          const sampling& how) {
  grant from;
  from.what = what;
  auto prompt = tools_.first_prompt(from);
  for (uint32_t index = 0; index < samples; ++index) {
    auto queued = policy_->submit(
      {.id = next_,
       .prompt = prompt,
       .how = how,
       .seed = sample_seed(how.seed, item, index, 0)});
    if (!queued)
      return fail(queued.error().code,
                  fmt::format("task {}: {}", what.id, queued.error().message));
    asked_[next_++] = {item, index};
  }
  return {};
}

std::vector<response>
sampler::run(const std::function<void(size_t, size_t)>& on_progress) {
  std::vector<response> done;
  auto total = asked_.size();
  while (policy_->pending() > 0) {
    for (auto& output : policy_->step()) {
      auto [item, index] = asked_.at(output.id);
      done.push_back({item, index, tools_.decode(output.tokens)});
      asked_.erase(output.id);
    }
    on_progress(done.size(), total);
  }
  return done;
}

} // namespace swage
