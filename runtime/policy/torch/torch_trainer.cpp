#include "runtime/policy/torch/torch_trainer.hpp"

#include "runtime/policy/adamw.hpp"
#include "runtime/policy/mapped_file.hpp"
#include "runtime/policy/model_weights.hpp"
#include "runtime/policy/safetensors.hpp"
#include "runtime/policy/torch/fused_ops.hpp"
#include "runtime/policy/torch/losses.hpp"
#include "runtime/policy/torch/micro_batches.hpp"
#include "runtime/policy/torch/qwen3_network.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace swage {

namespace {

namespace fs = std::filesystem;

constexpr const char* weights_file = "model.safetensors";
constexpr const char* optimizer_file = "optimizer.safetensors";

/// Norms (vectors) and embeddings do not decay; neighbours are joined.
std::vector<adamw_segment> segments_of(const model_config& config) {
  std::vector<adamw_segment> out;
  for (auto& entry : parameter_layout(config)) {
    bool decays = entry.shape.size() > 1
                  && entry.name != "model.embed_tokens.weight";
    auto begin = entry.offset / sizeof(float);
    auto end = begin + entry.bytes / sizeof(float);
    if (!out.empty() && out.back().decays == decays)
      out.back().end = end;
    else
      out.push_back({begin, end, decays});
  }
  return out;
}

/// The snapshot's tensors in the order of the layout.
result<std::vector<float>> flatten(const snapshot& weights,
                                   const model_config& config) {
  auto tensors = tensors_of(weights, config);
  if (!tensors)
    return tl::unexpected<error>(tensors.error());
  std::vector<float> out;
  for (auto& entry : parameter_layout(config)) {
    auto from = tensors->at(entry.name);
    out.insert(out.end(), from.begin(), from.end());
  }
  return out;
}

stored_tensor stored(const std::vector<float>& values) {
  return {"F32",
          {static_cast<int64_t>(values.size())},
          std::as_bytes(std::span{values})};
}

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (float value : values)
    sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

/// Text of a file that may be missing, which leaves it empty.
result<std::string> text_if_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) ? read_text(file)
                                   : result<std::string>{std::string{}};
}

result<void> write_text(const fs::path& file, const std::string& text) {
  std::span<const std::byte> part = std::as_bytes(std::span{text});
  return write_whole(file, {&part, 1});
}

} // namespace

struct torch_trainer::impl {
  impl(const model_config& c, std::span<const float> flat,
       const adamw_options& options)
    : network(c, flat), optimizer(options, segments_of(c)) {
    // nop
  }

  /// One micro batch, forward and backward.
  loss_sums accumulate(const micro_batch& batch, const train_options& options) {
    auto temperature = options.what == objective::sft ? 1.0f
                                                      : options.temperature;
    std::vector<float> entropies;
    at::Tensor reference_logprobs;
    if (options.what == objective::grpo && options.kl_coefficient > 0) {
      at::NoGradGuard no_grad;
      auto* policy = reference ? reference.get() : &network;
      reference_logprobs = fused::target_logprobs(policy->logits(batch.tokens),
                                                  batch.tokens.targets,
                                                  temperature, entropies);
    }
    auto logprobs = fused::target_logprobs(network.logits(batch.tokens),
                                           batch.tokens.targets, temperature,
                                           entropies);
    auto loss = loss_of(logprobs, reference_logprobs, batch, options);
    auto out = sums_of(logprobs, batch, options);
    out.loss = static_cast<double>(loss.item<float>());
    for (float entropy : entropies)
      out.entropy += static_cast<double>(entropy);
    if (std::isfinite(out.loss))
      loss.backward();
    return out;
  }

  /// Loss and gradient of all samples, over all ranks. Nothing stops a rank
  /// before it has met the others, which would wait for it in vain.
  result<loss_sums> add_up(std::span<const train_sample> samples,
                           const train_options& options) {
    auto batches = make_micro_batches(
      samples, token_shares(samples, options.denominator_all), options.what,
      options.micro_batch_tokens);
    const size_t ranks = others ? others->size() : 1;
    loss_sums total;
    std::string bad;
    for (size_t i = others ? others->rank() : 0; i < batches.size();
         i += ranks) {
      auto sums = accumulate(batches[i], options);
      for (auto figure : loss_figures)
        total.*figure += sums.*figure;
      if (std::isfinite(sums.loss))
        continue;
      bad = fmt::format("the micro batch that begins with sample {}",
                        batches[i].samples.front());
      break;
    }
    if (others)
      if (auto met = meet(total); !met)
        return tl::unexpected<error>(met.error());
    if (!std::isfinite(total.loss))
      return fail(ec::infra,
                  fmt::format("the loss is {} in {}; the weights are unchanged",
                              total.loss,
                              bad.empty() ? "a micro batch of another rank"
                                          : bad));
    return total;
  }

  /// Sums over the ranks.
  result<void> meet(loss_sums& total) {
    std::array<double, loss_figures.size()> figures;
    for (size_t i = 0; i < figures.size(); ++i)
      figures[i] = total.*loss_figures[i];
    if (auto summed = others->sum(figures); !summed)
      return summed;
    for (size_t i = 0; i < figures.size(); ++i)
      total.*loss_figures[i] = figures[i];
    return others->sum(network.gradients());
  }

  /// The parameter whose gradient is not finite.
  std::string bad_parameter() {
    auto gradients = network.gradients();
    for (auto& entry : parameter_layout(network.config())) {
      auto part = gradients.subspan(entry.offset / sizeof(float),
                                    entry.bytes / sizeof(float));
      if (!std::all_of(part.begin(), part.end(),
                       [](float x) { return std::isfinite(x); }))
        return entry.name;
    }
    return "(its norm overflows)";
  }

  qwen3_network network;
  adamw optimizer;
  std::unique_ptr<qwen3_network> reference;
  std::unique_ptr<gloo_collective> others;
  std::string config_text, tokenizer_text;
};

torch_trainer::torch_trainer() = default;
torch_trainer::~torch_trainer() = default;

result<std::unique_ptr<torch_trainer>>
torch_trainer::open(const fs::path& directory, const optimizer_options& options,
                    uint64_t seed, std::unique_ptr<gloo_collective> others) {
  auto config = load_model_config(directory / "config.json");
  if (!config)
    return tl::unexpected<error>(config.error());
  auto config_text = read_text(directory / "config.json");
  auto tokenizer_text = text_if_there(directory / "tokenizer.json");
  auto weights = open_weights(directory, *config, seed);
  if (!weights)
    return tl::unexpected<error>(weights.error());
  auto flat = flatten(*weights, *config);
  for (auto* failed : {config_text ? nullptr : &config_text.error(),
                       tokenizer_text ? nullptr : &tokenizer_text.error(),
                       flat ? nullptr : &flat.error()})
    if (failed)
      return tl::unexpected<error>(*failed);
  std::unique_ptr<torch_trainer> out{new torch_trainer};
  out->impl_ = std::make_unique<impl>(
    *config, *flat,
    adamw_options{options.beta1, options.beta2, options.epsilon});
  out->impl_->others = std::move(others);
  out->impl_->config_text = std::move(*config_text);
  out->impl_->tokenizer_text = std::move(*tokenizer_text);
  return out;
}

result<step_report> torch_trainer::step(std::span<const train_sample> samples,
                                        const train_options& options) {
  set_torch_threads(options.threads);
  auto& network = impl_->network;
  if (auto checked = check_samples(samples, options.what, network.config());
      !checked)
    return tl::unexpected<error>(checked.error());
  step_report out;
  out.lr = options.lr;
  out.samples = static_cast<uint32_t>(samples.size());
  out.kept = static_cast<uint32_t>(std::count_if(
    samples.begin(), samples.end(), [](auto& sample) { return sample.kept; }));
  if (out.kept == 0)
    return out;
  std::ranges::fill(network.gradients(), 0.0f);
  auto added = impl_->add_up(samples, options);
  if (!added)
    return tl::unexpected<error>(added.error());
  auto& total = *added;
  out.grad_norm = norm_of(network.gradients());
  if (!std::isfinite(out.grad_norm))
    return fail(ec::infra,
                fmt::format("the gradient of {} is not finite; the weights "
                            "are unchanged",
                            impl_->bad_parameter()));
  // As torch's clip_grad_norm_ does: the norm plus 1e-6.
  double scale = options.grad_clip > 0
                   ? std::min(1.0, options.grad_clip / (out.grad_norm + 1e-6))
                   : 1.0;
  impl_->optimizer.step(network.parameters(), network.gradients(),
                        {options.lr, options.weight_decay, scale});
  out.loss = total.loss;
  out.clip_fraction = total.clipped / total.tokens;
  out.entropy = total.entropy / total.tokens;
  out.mean_abs_log_ratio = total.abs_log_ratio / total.tokens;
  out.floor_tokens = static_cast<uint64_t>(total.on_policy_tokens);
  if (total.on_policy_tokens > 0)
    out.floor = total.on_policy_ratio / total.on_policy_tokens;
  out.tokens = static_cast<uint64_t>(total.tokens);
  out.stepped = true;
  return out;
}

snapshot torch_trainer::copy_weights(uint64_t version) {
  return make_snapshot(impl_->network.config(), version,
                       impl_->network.parameters());
}

void torch_trainer::set_reference() {
  impl_->reference = std::make_unique<qwen3_network>(
    impl_->network.config(), impl_->network.parameters());
}

void torch_trainer::reset_optimizer() {
  impl_->optimizer.reset();
}

result<void> torch_trainer::save(const fs::path& directory) {
  std::map<std::string, stored_tensor> state{
    {"first_moment", stored(impl_->optimizer.first)},
    {"second_moment", stored(impl_->optimizer.second)}};
  std::vector<float> reference;
  if (impl_->reference) {
    auto values = impl_->reference->parameters();
    reference.assign(values.begin(), values.end());
    state["reference"] = stored(reference);
  }
  auto done = write_text(directory / "config.json", impl_->config_text);
  if (done && !impl_->tokenizer_text.empty())
    done = write_text(directory / "tokenizer.json", impl_->tokenizer_text);
  if (done)
    done = write_weights(copy_weights(0), directory / weights_file);
  if (done)
    done = write_safetensors(
      directory / optimizer_file, state,
      {{"steps", std::to_string(impl_->optimizer.steps)}});
  return done;
}

namespace {

/// Reads a float32 vector of `size` elements.
result<std::vector<float>> read_vector(const safetensors_file& file,
                                       const std::string& name, size_t size) {
  auto tensor = file.find(name);
  if (!tensor)
    return tl::unexpected<error>(tensor.error());
  if (tensor->data.size() != size * sizeof(float))
    return fail(ec::corrupt,
                fmt::format("optimizer state '{}' has {} bytes, the model "
                            "needs {}",
                            name, tensor->data.size(), size * sizeof(float)));
  std::vector<float> out(size);
  if (auto read = to_float32(*tensor, out); !read)
    return tl::unexpected<error>(read.error());
  return out;
}

} // namespace

result<void> torch_trainer::load(const fs::path& directory) {
  auto& network = impl_->network;
  std::error_code ignored;
  if (!fs::exists(directory / weights_file, ignored))
    return fail(ec::not_found, fmt::format("'{}' has no {}", directory.string(),
                                           weights_file));
  auto weights = open_weights(directory, network.config(), 0);
  if (!weights)
    return tl::unexpected<error>(weights.error());
  auto flat = flatten(*weights, network.config());
  auto file = safetensors_file::open(directory / optimizer_file);
  for (auto* failed :
       {flat ? nullptr : &flat.error(), file ? nullptr : &file.error()})
    if (failed)
      return tl::unexpected<error>(*failed);
  auto first = read_vector(*file, "first_moment", flat->size());
  auto second = read_vector(*file, "second_moment", flat->size());
  bool has_reference = file->tensors().count("reference") > 0;
  auto reference = has_reference
                     ? read_vector(*file, "reference", flat->size())
                     : result<std::vector<float>>{std::vector<float>{}};
  for (auto* part : {&first, &second, &reference})
    if (!*part)
      return tl::unexpected<error>(part->error());
  uint64_t steps = 0;
  auto counter = file->metadata().find("steps");
  if (counter == file->metadata().end()
      || std::from_chars(counter->second.data(),
                         counter->second.data() + counter->second.size(), steps)
             .ec
           != std::errc{})
    return fail(ec::corrupt,
                fmt::format("'{}' lacks the number of steps",
                            (directory / optimizer_file).string()));
  std::ranges::copy(*flat, network.parameters().begin());
  impl_->optimizer.first = std::move(*first);
  impl_->optimizer.second = std::move(*second);
  impl_->optimizer.steps = steps;
  impl_->reference.reset();
  if (has_reference)
    impl_->reference = std::make_unique<qwen3_network>(network.config(),
                                                       *reference);
  return {};
}

result<std::vector<std::vector<float>>>
torch_trainer::score(std::span<const scored_sequence> sequences,
                     float temperature) {
  at::NoGradGuard no_grad;
  std::vector<train_sample> samples;
  for (auto& [prompt, response] : sequences)
    samples.push_back({{prompt.begin(), prompt.end()},
                       {response.begin(), response.end()},
                       {},
                       1,
                       true});
  auto& network = impl_->network;
  if (auto checked = check_samples(samples, objective::sft, network.config());
      !checked)
    return tl::unexpected<error>(checked.error());
  std::vector<std::vector<float>> out(samples.size());
  for (auto& batch : make_micro_batches(samples, {}, objective::sft,
                                        train_options{}.micro_batch_tokens)) {
    std::vector<float> entropies;
    auto logprobs = fused::target_logprobs(network.logits(batch.tokens),
                                           batch.tokens.targets, temperature,
                                           entropies);
    auto* next = logprobs.data_ptr<float>();
    for (auto index : batch.samples) {
      auto count = samples[index].response.size();
      out[index].assign(next, next + count);
      next += count;
    }
  }
  return out;
}

std::span<const float> torch_trainer::gradients() const {
  return impl_->network.gradients();
}

} // namespace swage
