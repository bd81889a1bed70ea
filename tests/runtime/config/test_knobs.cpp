#include "runtime/buffer/stage.hpp"
#include "runtime/config/config_text.hpp"
#include "runtime/config/knobs.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/task/task.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace swage;

namespace {

/// Whether a file that sets only this knob is refused because of the knob
/// itself, not by a rule over knobs or because it is not built.
bool is_refused(const knob& row, const std::string& value) {
  auto text = fmt::format("[{}]\n{} = {}\n", row.table, row.key, value);
  auto loaded = parse_config(text, "x.toml");
  if (loaded)
    return false;
  INFO(loaded.error().message);
  if (loaded.error().code == ec::unsupported
      || loaded.error().message.find("contradicts") != std::string::npos
      || loaded.error().message.starts_with(row.path() + " = "))
    return false;
  CHECK(loaded.error().message.starts_with("x.toml:2:"));
  CHECK(loaded.error().message.find(row.path()) != std::string::npos);
  return true;
}

bool is_list(const knob_field& field) {
  return std::holds_alternative<std::vector<double>*>(field);
}

bool is_text(const knob_field& field) {
  return std::holds_alternative<std::string*>(field)
         || std::holds_alternative<std::vector<std::string>*>(field);
}

std::string number(const knob_field& field, double value) {
  bool real = std::holds_alternative<double*>(field) || is_list(field);
  auto text = real ? fmt::format("{:.17g}", value)
                   : fmt::format("{}", static_cast<int64_t>(value));
  return is_list(field) ? "[" + text + "]" : text;
}

} // namespace

TEST_CASE("every numeric knob is held to its range", "[runtime][config]") {
  for (auto& row : knobs()) {
    CAPTURE(row.path());
    config sample;
    auto field = row.field(sample);
    if (is_text(field) || std::holds_alternative<bool*>(field))
      continue;
    auto [low, high, above_low] = row.range;
    CHECK(is_refused(row, number(field, low)) == above_low);
    CHECK(is_refused(row, number(field, low - 1)));
    if (std::isfinite(high)) {
      CHECK_FALSE(is_refused(row, number(field, high)));
      CHECK(is_refused(row, number(field, high * 1.01 + 1)));
    }
  }
}

TEST_CASE("every knob with choices takes only those", "[runtime][config]") {
  size_t checked = 0;
  for (auto& row : knobs()) {
    if (row.choices.empty())
      continue;
    CAPTURE(row.path());
    config sample;
    bool list = !std::holds_alternative<std::string*>(row.field(sample));
    auto written = [&](std::string_view value) {
      return list ? fmt::format("[\"{}\"]", value)
                  : fmt::format("\"{}\"", value);
    };
    for (auto choice : row.choices)
      CHECK_FALSE(is_refused(row, written(choice)));
    CHECK(is_refused(row, written("no-such-choice")));
    ++checked;
  }
  CHECK(checked >= 10);
}

TEST_CASE("every knob refuses values of other types", "[runtime][config]") {
  for (auto& row : knobs()) {
    CAPTURE(row.path());
    CHECK(is_refused(row, "{a = 1}"));
    CHECK(is_refused(row, "1979-05-27"));
    CHECK(is_refused(row, "[[1]]"));
  }
}

TEST_CASE("every knob has one short help line", "[runtime][config]") {
  std::set<std::string> paths;
  for (auto& row : knobs()) {
    CAPTURE(row.path());
    CHECK(paths.insert(row.path()).second);
    CHECK(row.help.ends_with("."));
    CHECK(row.help.size() <= 100);
    CHECK(row.help.find('\n') == std::string_view::npos);
  }
}

TEST_CASE("every default is within its own range", "[runtime][config]") {
  for (auto& row : knobs()) {
    CAPTURE(row.path());
    CHECK_FALSE(complaint(row, config{}).has_value());
  }
}

TEST_CASE("every choice is known to its station", "[runtime][config]") {
  for (auto choice : find_knob("run", "stages")->choices) {
    config settings;
    settings.run.stages = {"teach", std::string{choice}};
    CHECK(make_plan(settings).has_value());
  }
  for (auto choice : find_knob("verifier", "target")->choices) {
    target where;
    CHECK(from_string(std::string{choice}, where));
  }
  for (auto choice : find_knob("verifier", "form")->choices) {
    form what;
    CHECK(from_string(std::string{choice}, what));
  }
}

TEST_CASE("nothing near means no suggestion at all", "[runtime][config]") {
  CHECK(nearest_table("xyzxyzxyz").empty());
  CHECK(nearest_table("rollouts") == "rollout");
  CHECK(nearest_knob("learner", "lr_finall") == "learner.lr_final");
  CHECK(nearest_knob("learner", std::string(5000, 'q')).empty());
  CHECK(nearest_knob("run", "lease_ttl") == "buffer.lease_ttl_s");
}
