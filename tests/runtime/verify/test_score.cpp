#include "runtime/verify/engine.hpp"
#include "runtime/verify/feedback.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <string>

namespace {

using namespace swage;

verdict right(double speedup) {
  verdict out;
  out.compiled = out.correct = out.legal = true;
  out.kind = category::ok;
  out.pass_fraction = 1;
  out.speedup = speedup;
  return out;
}

verdict wrong(category kind, double q) {
  verdict out;
  out.compiled = true;
  out.kind = kind;
  out.pass_fraction = q;
  return out;
}

} // namespace

TEST_CASE("the reward of a right kernel grows with speed", "[verify][score]") {
  CHECK(score(right(1.0), {}) == 1.0);
  CHECK(score(right(0.2), {}) == 1.0);
  CHECK(score(right(2.0), {}) == Catch::Approx(1.5));
  CHECK(score(right(3.0), {}) == Catch::Approx(2.0));
  CHECK(score(right(9.0), {}) == Catch::Approx(2.0));
  CHECK(score(right(2.0), {.speed_weight = 1, .max_speed_bonus = 0.5})
        == Catch::Approx(1.5));
}

TEST_CASE("an unmeasured right kernel gets its plain reward",
          "[verify][score]") {
  CHECK(score(right(-1), {}) == 1.0);
  CHECK(score(right(std::numeric_limits<double>::quiet_NaN()), {}) == 1.0);
}

TEST_CASE("partly right results get part of the reward", "[verify][score]") {
  auto kind = GENERATE(category::correctness_tolerance,
                       category::correctness_shape,
                       category::correctness_dtype);
  CHECK(score(wrong(kind, 0.5), {}) == Catch::Approx(-0.25));
  CHECK(score(wrong(kind, 0), {}) == -1);
  CHECK(score(wrong(kind, 1), {}) == -1);
}

TEST_CASE("nothing else that fails is paid in part", "[verify][score]") {
  for (uint8_t i = 0; i < num_categories; ++i) {
    auto kind = static_cast<category>(i);
    if (kind == category::ok || is_uncharged(kind)
        || kind == category::correctness_tolerance
        || kind == category::correctness_shape
        || kind == category::correctness_dtype)
      continue;
    CAPTURE(to_string(kind));
    CHECK(score(wrong(kind, 0.9), {}) == -1);
  }
}

TEST_CASE("what says nothing about the candidate has no reward",
          "[verify][score]") {
  for (uint8_t i = 0; i < num_categories; ++i)
    if (auto kind = static_cast<category>(i); is_uncharged(kind))
      CHECK(std::isnan(score(wrong(kind, 0.5), {})));
}

TEST_CASE("a verdict that claims ok must be legal", "[verify][score]") {
  auto outcome = right(2);
  outcome.legal = false;
  CHECK(score(outcome, {}) == -1);
}

TEST_CASE("feedback names the category and the speed", "[verify][feedback]") {
  auto outcome = right(2.5);
  outcome.times.candidate_s = 10e-6;
  outcome.times.reference_s = 25e-6;
  auto text = feedback_text(outcome, 2);
  CHECK(text.starts_with("Round 2: correct (ok)"));
  CHECK(text.find("2.50 times") != std::string::npos);
  auto bad = wrong(category::correctness_tolerance, 3.0 / 7);
  bad.detail = "worst at [1, 2]: got 3, expected 4";
  text = feedback_text(bad, 1);
  CHECK(text.find("correctness_error:tolerance") != std::string::npos);
  CHECK(text.find("got 3, expected 4") != std::string::npos);
  CHECK(text.find("43 %") != std::string::npos);
}

TEST_CASE("feedback to a person has no round", "[verify][feedback]") {
  CHECK(feedback_text(right(-1)).starts_with("Correct (ok).\n"));
  auto bad = wrong(category::compile_no_code, 0);
  bad.detail = "nothing in the text defines 'kernel'";
  CHECK(feedback_text(bad).find("in the file itself") != std::string::npos);
  CHECK(feedback_text(bad, 1).ends_with(
    "Answer with one fenced code block that defines the function 'kernel'."));
}

TEST_CASE("every category has feedback with advice", "[verify][feedback]") {
  for (uint8_t i = 0; i < num_categories; ++i) {
    auto outcome = wrong(static_cast<category>(i), 0);
    CHECK(feedback_text(outcome, 1).size() > 40);
    auto json = nlohmann::json::parse(feedback_json(outcome, 3));
    CHECK(json.at("category") == to_string(outcome.kind));
    CHECK(json.at("round") == 3);
    CHECK_FALSE(json.at("hint").get<std::string>().empty());
  }
}

TEST_CASE("feedback stays bounded whatever the detail holds",
          "[verify][feedback]") {
  CHECK(rc::check("bounds", [](const std::string& piece) {
    auto outcome = wrong(category::compile_compiler, 0);
    auto times = *rc::gen::inRange(0, 3000);
    for (int i = 0; i < times; ++i)
      outcome.detail += piece + "\x01\xff\"";
    RC_ASSERT(feedback_text(outcome, 1).size() <= max_feedback_bytes);
    auto text = feedback_json(outcome, 1);
    RC_ASSERT(text.size() <= max_feedback_bytes);
    RC_ASSERT(nlohmann::json::accept(text));
  }));
}

TEST_CASE("a long text keeps its beginning and end", "[verify][feedback]") {
  auto text = "first error\n" + std::string(5000, 'x') + "\nlast line";
  auto brief = shortened(text, 200);
  CHECK(brief.size() <= 200);
  CHECK(brief.starts_with("first error"));
  CHECK(brief.ends_with("last line"));
  CHECK(shortened("short", 200) == "short");
  // Never half a character.
  auto accents = shortened(std::string("\xc3\xa9\xc3\xa9\xc3\xa9") + text, 31);
  CHECK(nlohmann::json::accept(nlohmann::json(accents).dump()));
}
