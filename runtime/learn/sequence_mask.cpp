#include "runtime/learn/sequence_mask.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace swage {

namespace {

bool within(const drift_statistic& sample, const mask_rule& rule) {
  // NaN compares false, so a sequence that cannot be compared is not trained.
  switch (rule.kind) {
    case mask_kind::none:
    case mask_kind::icepop:
    case mask_kind::tis:
      return true;
    case mask_kind::geometric:
      return std::abs(sample.mean_signed) <= rule.delta;
    default:
      return sample.mean_abs <= rule.delta;
  }
}

void permute_kept(std::vector<judgement>& judged, const mask_rule& rule,
                  uint64_t step) {
  std::mt19937_64 engine{rule.seed ^ (step * 0x9e3779b97f4a7c15ull)};
  for (size_t i = judged.size(); i > 1; --i)
    std::swap(judged[i - 1].kept, judged[engine() % i].kept);
}

double quantile(std::vector<double> values, double q) {
  if (values.empty())
    return 0;
  auto at = static_cast<size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<long>(at),
                   values.end());
  return values[at];
}

float token_weight(double log_ratio, const mask_rule& rule) {
  if (std::isnan(log_ratio))
    return 0;
  if (rule.kind == mask_kind::tis)
    return static_cast<float>(
      log_ratio < std::log(rule.cap) ? std::exp(log_ratio) : rule.cap);
  const auto inside = log_ratio >= std::log(rule.low)
                      && log_ratio <= std::log(rule.high);
  return inside ? static_cast<float>(std::exp(log_ratio)) : 0;
}

void count_tokens(drift_report& out, const judgement& one,
                  const mask_rule& rule) {
  const auto cap = static_cast<float>(rule.cap);
  out.tokens += one.weights.size();
  for (auto weight : one.weights) {
    out.masked_tokens += weight == 0;
    out.capped_tokens += rule.kind == mask_kind::tis && weight == cap;
  }
}

void count_masked(drift_report& out, double advantage) {
  auto& count = advantage > 0   ? out.masked_positive
                : advantage < 0 ? out.masked_negative
                                : out.masked_zero;
  ++count;
}

} // namespace

drift_statistic drift(std::span<const float> current,
                      std::span<const float> behaviour) {
  drift_statistic out;
  if (behaviour.empty())
    return out;
  for (size_t t = 0; t < behaviour.size(); ++t) {
    auto log_ratio = static_cast<double>(current[t]) - behaviour[t];
    out.mean_abs += std::abs(log_ratio);
    out.mean_signed += log_ratio;
  }
  out.mean_abs /= static_cast<double>(behaviour.size());
  out.mean_signed /= static_cast<double>(behaviour.size());
  return out;
}

bool weighs_tokens(mask_kind kind) {
  return kind == mask_kind::icepop || kind == mask_kind::tis;
}

mask_rule make_mask_rule(const learner_config& settings, double floor) {
  mask_rule rule;
  if (settings.seq_mask == "none")
    rule.kind = mask_kind::none;
  else if (settings.seq_mask == "geometric")
    rule.kind = mask_kind::geometric;
  else if (settings.seq_mask == "random")
    rule.kind = mask_kind::random;
  else if (settings.seq_mask == "icepop")
    rule.kind = mask_kind::icepop;
  else if (settings.seq_mask == "tis")
    rule.kind = mask_kind::tis;
  rule.low = settings.icepop_low;
  rule.high = settings.icepop_high;
  rule.cap = settings.tis_cap;
  rule.delta = settings.seq_mask_delta > 0
                 ? settings.seq_mask_delta
                 : std::max(settings.seq_mask_auto_min,
                            settings.seq_mask_auto_factor * floor);
  return rule;
}

std::vector<judgement> judge_drift(std::span<const drift_statistic> samples,
                                   const mask_rule& rule, uint64_t step) {
  std::vector<judgement> out;
  out.reserve(samples.size());
  for (auto& sample : samples) {
    judgement one;
    one.step = step;
    one.mean_abs = sample.mean_abs;
    one.mean_signed = sample.mean_signed;
    one.kept = within(sample, rule);
    out.push_back(one);
  }
  if (rule.kind == mask_kind::random)
    permute_kept(out, rule, step);
  return out;
}

std::vector<float> token_weights(std::span<const float> current,
                                 std::span<const float> behaviour,
                                 const mask_rule& rule) {
  std::vector<float> out(current.size());
  for (size_t t = 0; t < out.size(); ++t)
    out[t] = token_weight(static_cast<double>(current[t]) - behaviour[t], rule);
  return out;
}

drift_report summarise(std::span<const judgement> judgements,
                       std::span<const double> advantages,
                       const mask_rule& rule) {
  drift_report out;
  out.delta = weighs_tokens(rule.kind) ? 0 : rule.delta;
  out.samples = static_cast<uint32_t>(judgements.size());
  std::vector<double> absolute;
  std::vector<double> with_sign;
  for (size_t i = 0; i < judgements.size(); ++i) {
    auto& one = judgements[i];
    out.step = one.step;
    out.floor = std::max(out.floor, one.floor);
    absolute.push_back(one.mean_abs);
    with_sign.push_back(one.mean_signed);
    out.staleness_mean += static_cast<double>(one.staleness);
    out.staleness_max = std::max(out.staleness_max, one.staleness);
    count_tokens(out, one, rule);
    if (!one.kept)
      count_masked(out, i < advantages.size() ? advantages[i] : 0);
  }
  if (!judgements.empty())
    out.staleness_mean /= static_cast<double>(judgements.size());
  out.mean_abs_p50 = quantile(absolute, 0.5);
  out.mean_abs_p90 = quantile(absolute, 0.9);
  out.mean_abs_max = quantile(absolute, 1);
  out.mean_signed_p50 = quantile(with_sign, 0.5);
  return out;
}

} // namespace swage
