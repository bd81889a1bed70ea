#include "tools/swage/option_checks.hpp"

#include <CLI/Option.hpp>
#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

namespace swage {

namespace {

/// Whether `text` is a number from `low` to `high`, which is then written as
/// its reader understands it: that one takes 010 for eight. A NaN is in no
/// range: every comparison with it is false.
template <class Number>
bool is_from(std::string& text, Number low, Number high) {
  Number value{};
  auto* end = text.data() + text.size();
  auto [rest, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc{} || rest != end || !(value >= low && value <= high))
    return false;
  text = fmt::format("{}", value);
  return true;
}

template <class Number>
CLI::Validator range(std::string_view kind, Number low, Number high) {
  auto expected = high == std::numeric_limits<Number>::max()
                    ? fmt::format("{} from {}", kind, low)
                    : fmt::format("{} from {} to {}", kind, low, high);
  return {[=](std::string& text) {
            return is_from(text, low, high)
                     ? std::string{}
                     : fmt::format("expected {}, found {}", expected, text);
          },
          fmt::format("{}..{}", low,
                      high == std::numeric_limits<Number>::max()
                        ? ""
                        : fmt::format("{}", high))};
}

} // namespace

CLI::Validator whole_number(uint64_t low, uint64_t high) {
  return range("a whole number", low, high);
}

CLI::Validator number(double low, double high) {
  return range("a number", low, high);
}

void refuse_empty_values(CLI::App& app) {
  for (auto* sub : app.get_subcommands([](CLI::App*) { return true; }))
    refuse_empty_values(*sub);
  for (auto* option : app.get_options())
    if (option->get_items_expected_max() > 0)
      option->check(CLI::Validator{
        [about = option->get_description()](std::string& text) {
          return text.empty() ? fmt::format(
                   "expected a value, found an empty text: {}", about)
                              : std::string{};
        },
        ""});
}

} // namespace swage
