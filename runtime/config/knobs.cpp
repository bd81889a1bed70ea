#include "runtime/config/knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <concepts>
#include <utility>

namespace swage {

namespace {

template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};

/// Names that other systems have for a knob of ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 36>
  aliases = {{
    {"n_samples", "rollout.group_size"},
    {"n_samples_per_prompt", "rollout.group_size"},
    {"num_generations", "rollout.group_size"},
    {"num_generations_per_prompt", "rollout.group_size"},
    {"attempts", "rollout.group_size"},
    {"max_head_offpolicyness", "buffer.max_staleness"},
    {"max_staleness_steps", "buffer.max_staleness"},
    {"max_off_policy_steps", "buffer.max_staleness"},
    {"max_policy_lag", "buffer.max_staleness"},
    {"max_lag", "buffer.max_staleness"},
    {"async_ratio", "buffer.max_staleness"},
    {"max_off_policy_strategy", "buffer.staleness_policy"},
    {"rollout_batch_size", "buffer.groups_per_batch"},
    {"train_batch_size", "buffer.groups_per_batch"},
    {"num_prompts_per_step", "buffer.groups_per_batch"},
    {"max_concurrent_rollouts", "rollout.max_live"},
    {"max_inflight", "rollout.max_live"},
    {"max_tokens_per_response", "rollout.max_new_tokens"},
    {"max_response_length", "rollout.max_new_tokens"},
    {"recompute_kv_cache_after_weight_updates", "rollout.kv_on_weight_update"},
    {"dynamic_filtering", "buffer.dynamic_sampling"},
    {"dynamic_sampling_filter", "buffer.dynamic_sampling"},
    {"eps_clip", "learner.clip_low"},
    {"epsilon", "learner.clip_low"},
    {"eps_clip_high", "learner.clip_high"},
    {"learning_rate", "learner.lr"},
    {"kl_coef", "learner.kl_coefficient"},
    {"rollout_rs", "learner.seq_mask"},
    {"rollout_rs_threshold", "learner.seq_mask_delta"},
    {"opsm_delta", "learner.seq_mask_delta"},
    {"is_threshold", "learner.tis_cap"},
    {"tis_clip", "learner.tis_cap"},
    {"is_correction", "learner.seq_mask"},
    {"weight_transport", "weights.transport"},
    {"max_restarts_per_worker", "faults.max_restarts"},
    {"ckpt_interval", "run.checkpoint_interval"},
  }};

/// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1,
                                     std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// 1000000 and not 1e+06.
std::string plain(double value) {
  return std::abs(value) < 1e16 && value == std::floor(value)
           ? fmt::format("{:.0f}", value)
           : fmt::format("{}", value);
}

std::string bounds(const knob_range& range) {
  auto low = plain(range.low), high = plain(range.high);
  if (!std::isfinite(range.high))
    return fmt::format("{} {}", range.above_low ? "above" : "from", low)
           + (range.above_low ? "" : " on");
  return range.above_low ? fmt::format("above {} and at most {}", low, high)
                         : fmt::format("from {} to {}", low, high);
}

bool contains(const knob_range& range, double value) {
  return std::isfinite(value) && value <= range.high
         && (range.above_low ? value > range.low : value >= range.low);
}

/// What a text, or each text of a list, must be.
std::string text_expectation(const knob& row) {
  if (row.is_file_name)
    return "a name of letters, digits, '-', '_' and '.'";
  return row.choices.empty()
           ? "a text"
           : fmt::format("one of {}", fmt::join(row.choices, ", "));
}

std::optional<std::string> bad_choice(const knob& row,
                                      const std::string& value) {
  bool fine = row.choices.empty() || std::ranges::count(row.choices, value);
  if (fine && (!row.is_file_name || is_file_name(value)))
    return std::nullopt;
  auto near = nearest(value, row.choices);
  auto hint = near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near);
  return fmt::format("{} is not {}{}", toml_quote(value), text_expectation(row),
                     hint);
}

template <class Number>
std::optional<std::string> bad_number(const knob& row, Number value) {
  if (contains(row.range, static_cast<double>(value)))
    return std::nullopt;
  return fmt::format("{} is not a{} number {}", value,
                     std::integral<Number> ? " whole" : "", bounds(row.range));
}

template <class T, class Check>
std::optional<std::string> bad_list(const std::vector<T>& values, Check check) {
  if (values.empty())
    return "the list is empty";
  for (auto& value : values)
    if (auto bad = check(value))
      return bad;
  return std::nullopt;
}

} // namespace

std::string knob::path() const {
  return fmt::format("{}.{}", table, key);
}

const knob* find_knob(std::string_view table, std::string_view key) {
  for (auto& row : knobs())
    if (row.table == table && row.key == key)
      return &row;
  return nullptr;
}

bool is_table(std::string_view table) {
  return std::ranges::any_of(knobs(),
                             [&](auto& row) { return row.table == table; });
}

bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text[0] != '.'
         && std::ranges::all_of(text, [](unsigned char c) {
              return std::isalnum(c) || c == '-' || c == '_' || c == '.';
            });
}

std::string nearest(std::string_view word,
                    std::span<const std::string_view> names) {
  std::string_view best;
  // A word of which half would have to change is not a slip of the pen.
  auto least = std::max<size_t>(2, word.size() / 2) + 1;
  if (word.size() > 100)
    return "";
  for (auto name : names)
    if (auto d = distance(word, name); d < least) {
      least = d;
      best = name;
    }
  return std::string{best};
}

std::string nearest_table(std::string_view table) {
  std::vector<std::string_view> names;
  for (auto& row : knobs())
    if (names.empty() || names.back() != row.table)
      names.push_back(row.table);
  return nearest(table, names);
}

std::string nearest_knob(std::string_view table, std::string_view key) {
  std::vector<std::string_view> here, elsewhere;
  for (auto& row : knobs()) {
    if (row.key == key)
      return row.path();
    (row.table == table ? here : elsewhere).push_back(row.key);
  }
  for (auto& [alias, path] : aliases)
    if (alias == key)
      return std::string{path};
  if (auto near = nearest(key, here); !near.empty())
    return fmt::format("{}.{}", table, near);
  auto near = nearest(key, elsewhere);
  for (auto& row : knobs())
    if (row.key == near)
      return row.path();
  return "";
}

std::string expectation(const knob& row) {
  config sample;
  auto field = row.field(sample);
  return std::visit(
    overloaded{
      [&](std::string*) { return text_expectation(row); },
      [&](bool*) { return std::string{"true or false"}; },
      [&](double*) { return "a number " + bounds(row.range); },
      [&](std::vector<std::string>*) {
        return "a list, each " + text_expectation(row);
      },
      [&](std::vector<double>*) {
        return "a list of numbers, each " + bounds(row.range);
      },
      [&](auto*) { return "a whole number " + bounds(row.range); },
    },
    field);
}

std::optional<std::string> complaint(const knob& row, const config& settings) {
  using complaint_or_none = std::optional<std::string>;
  auto field = row.field(const_cast<config&>(settings));
  return std::visit(
    overloaded{
      [&](std::string* value) { return bad_choice(row, *value); },
      [&](bool*) { return complaint_or_none{}; },
      [&](std::vector<std::string>* values) {
        return bad_list(*values, [&](auto& v) { return bad_choice(row, v); });
      },
      [&](std::vector<double>* values) {
        return bad_list(*values, [&](auto& v) { return bad_number(row, v); });
      },
      [&](auto* value) { return bad_number(row, *value); },
    },
    field);
}

std::string value_text(const knob& row, const config& settings) {
  auto field = row.field(const_cast<config&>(settings));
  return std::visit(overloaded{
                      [](std::string* value) { return toml_quote(*value); },
                      [](std::vector<std::string>* values) {
                        std::vector<std::string> quoted;
                        for (auto& value : *values)
                          quoted.push_back(toml_quote(value));
                        return fmt::format("[{}]", fmt::join(quoted, ", "));
                      },
                      [](std::vector<double>* values) {
                        return fmt::format("[{}]", fmt::join(*values, ", "));
                      },
                      [](auto* value) { return fmt::format("{}", *value); },
                    },
                    field);
}

std::string toml_quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (c == '\n')
      quoted += "\\n";
    else if (c == '\t')
      quoted += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      quoted += fmt::format("\\u{:04X}", byte);
    else
      quoted += c;
  }
  return quoted + '"';
}

} // namespace swage
