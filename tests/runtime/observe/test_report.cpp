#include "runtime/observe/report.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

namespace {

/// An evaluation of 64 tasks in two levels, made by the real summary.
eval_column column(std::string title, uint64_t version, uint32_t successes) {
  std::vector<eval_row> rows;
  eval_column made{std::move(title), version, {}, {}};
  for (uint32_t i = 0; i < 64; ++i)
    for (uint32_t k = 0; k < 8; ++k) {
      bool success = k < successes;
      rows.push_back({"task" + std::to_string(i), i < 32 ? 1 : 2, success,
                      success ? 1.5 : -1});
      ++made.outcomes[success ? category::ok : category::compile_compiler];
    }
  made.rows = summarise(rows);
  return made;
}

} // namespace

TEST_CASE("the table has a row per level and all", "[runtime][observe]") {
  eval_column columns[] = {column("after teaching", 600, 2),
                           column("after reinforcement learning", 700, 4)};
  auto text = eval_table(columns);
  INFO(text);
  CHECK(text.find("Pass@8 %") != std::string::npos);
  CHECK(text.find("after teaching                    600      1     32")
        != std::string::npos);
  CHECK(text.find("700    all     64      512  100.0") != std::string::npos);
  CHECK(text.find("25.0 (") != std::string::npos);
  CHECK(text.find("From after teaching to after reinforcement learning, in "
                  "points: Pass@8 +0.0, Avg@8 +25.0, Faster Rate +25.0.")
        != std::string::npos);
}

TEST_CASE("one evaluation alone claims no gain", "[runtime][observe]") {
  eval_column columns[] = {column("at the start", 0, 1)};
  CHECK(eval_table(columns).find("in points") == std::string::npos);
  CHECK(eval_table({}).find("level") != std::string::npos);
}

TEST_CASE("categories are sorted by how often they came",
          "[runtime][observe]") {
  eval_column columns[] = {column("before", 0, 1), column("after", 5, 2)};
  auto text = outcome_table(columns);
  INFO(text);
  auto failed = text.find("compile_error:compiler");
  auto fine = text.find("\nok ");
  REQUIRE(failed != std::string::npos);
  REQUIRE(fine != std::string::npos);
  CHECK(failed < fine);
  CHECK(text.find("448 (87.5 %)") != std::string::npos);
  CHECK(text.find("128 (25.0 %)") != std::string::npos);
}

TEST_CASE("an evaluation is named after its stage", "[runtime][observe]") {
  CHECK(eval_title("sft") == "after teaching");
  CHECK(eval_title("rl-single") == "after reinforcement learning");
  CHECK(eval_title("") == "at the start");
}
