#include "tools/swage/verdict_text.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <limits>

using namespace swage;

namespace {

verdict timed() {
  verdict outcome{.compiled = true,
                  .correct = true,
                  .legal = true,
                  .speedup = 1.5,
                  .kind = category::ok,
                  .pass_fraction = 1};
  outcome.times.reference_s = 3e-5;
  outcome.times.candidate_s = 2e-5;
  outcome.times.speedup_low = 1.4;
  outcome.times.speedup_high = 1.6;
  outcome.times.measure_s = std::numeric_limits<double>::quiet_NaN();
  return outcome;
}

} // namespace

TEST_CASE("the object has the contract's fields", "[tools][verify]") {
  auto object = nlohmann::ordered_json::parse(verdict_json(timed(), 1.25));
  std::vector<std::string> keys;
  for (auto& [key, value] : object.items())
    keys.push_back(key);
  CHECK(keys
        == std::vector<std::string>{"compiled", "correct", "legal", "speedup",
                                    "category", "detail", "pass_fraction",
                                    "reward", "times"});
  CHECK(object["speedup"] == 1.5);
  CHECK(object["reward"] == 1.25);
  CHECK(object["times"]["reference_s"] == 3e-5);
  CHECK(object["times"]["measure_s"].is_null());
}

TEST_CASE("what was not measured is null", "[tools][verify]") {
  auto object = nlohmann::json::parse(verdict_json({}, -1));
  CHECK(object["speedup"].is_null());
  CHECK(object["category"] == "infra:worker");
}

TEST_CASE("bytes that are no text survive", "[tools][verify]") {
  verdict outcome{.kind = category::compile_compiler, .detail = "\xff\xfe!"};
  auto object = nlohmann::json::parse(verdict_json(outcome, -1));
  CHECK(object["detail"].get<std::string>().ends_with("!"));
}

TEST_CASE("lines show the interval of the speedup", "[tools][verify]") {
  auto text = verdict_lines(timed(), 1.25);
  CHECK(text.find("speedup        1.5 (1.4 to 1.6)\n") != std::string::npos);
  CHECK(text.find("build          not measured\n") != std::string::npos);
}

TEST_CASE("lines show what is wrong in one line", "[tools][verify]") {
  CHECK(verdict_lines(timed(), 1.25).find("detail") == std::string::npos);
  verdict outcome{.kind = category::compile_compiler,
                  .detail = "kernel.cpp:3: no such name\nand more"};
  auto text = verdict_lines(outcome, -1);
  CHECK(text.find("detail         kernel.cpp:3: no such name\npass_fraction")
        != std::string::npos);
}

TEST_CASE("exit codes follow the category", "[tools][verify]") {
  auto code = [](category kind) { return verdict_exit_code({.kind = kind}); };
  CHECK(code(category::ok) == 0);
  CHECK(code(category::correctness_tolerance) == 1);
  CHECK(code(category::cheating_replay) == 1);
  CHECK(code(category::task_invalid) == 2);
  CHECK(code(category::infra_worker) == 3);
  CHECK(code(category::infra_unsupported) == 3);
}
