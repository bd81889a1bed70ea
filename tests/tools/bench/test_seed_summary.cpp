#include "tools/bench/seed_summary.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace swage;
using namespace swage::bench;
using Catch::Approx;

namespace {

/// Tasks "a", "b", ... with so many successes of 8; levels 1, 2, 1, 2, ...
evaluation evaluated(const std::vector<uint32_t>& successes) {
  evaluation out;
  for (size_t i = 0; i < successes.size(); ++i) {
    task_outcome one;
    one.task = std::string(1, static_cast<char>('a' + i));
    one.level = static_cast<int32_t>(i % 2) + 1;
    one.samples = 8;
    one.successes = successes[i];
    one.faster = successes[i] / 2;
    out.tasks.push_back(one);
    out.outcomes["ok"] += successes[i];
    out.outcomes["runtime_error:crash"] += 8 - successes[i];
  }
  return out;
}

seed_outcome seed(std::vector<uint32_t> before, std::vector<uint32_t> after) {
  seed_outcome out;
  out.before = evaluated(before);
  out.after = evaluated(after);
  return out;
}

} // namespace

TEST_CASE("a gain is the mean of the tasks' gains", "[bench][seeds]") {
  auto one = seed({0, 4, 8, 2}, {4, 4, 8, 6});
  auto found = change_of(one, metric::avg_at_k);
  CHECK(found.before.value == Approx(14.0 / 32));
  CHECK(found.after.value == Approx(22.0 / 32));
  CHECK(found.gain.value == Approx(0.25));
  CHECK(change_of(one, metric::pass_at_k).gain.value == Approx(0.25));
  CHECK(change_of(one, metric::faster_rate).gain.value == Approx(0.125));
  CHECK(change_of(one, metric::avg_at_k, 1).gain.value == Approx(0.25));
  CHECK(change_of(one, metric::avg_at_k, 2).before.value == Approx(6.0 / 16));
}

TEST_CASE("pairing takes the tasks' own spread out", "[bench][seeds]") {
  // Easy and hard tasks that all rise by one sample in eight.
  auto found = change_of(seed({0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7},
                              {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}),
                         metric::avg_at_k);
  CHECK(found.gain.low == Approx(0.125));
  CHECK(found.gain.high == Approx(0.125));
  CHECK(found.after.high - found.after.low > 0.2);
}

TEST_CASE("tasks that one evaluation lacks are left out", "[bench][seeds]") {
  auto one = seed({0, 4, 8}, {8, 4, 8});
  one.after.tasks.erase(one.after.tasks.begin());
  auto found = change_of(one, metric::avg_at_k);
  CHECK(found.gain.value == 0);
  CHECK(found.before.value == Approx(0.75));
}

TEST_CASE("seeds are summed up by their median and least", "[bench][seeds]") {
  std::vector all = {seed({0, 0}, {2, 2}), seed({4, 4}, {3, 3}),
                     seed({2, 2}, {3, 3})};
  auto found = spread_of(all, metric::avg_at_k);
  CHECK(found.median == Approx(0.125));
  CHECK(found.min == Approx(-0.125));
  CHECK(mean_change(all, metric::avg_at_k).gain.value == Approx(2.0 / 24));
}

TEST_CASE("the claim needs every part of it", "[bench][seeds]") {
  // Gains of 25 points, twice, from tasks that leave an error of 12.5.
  auto good = seed({2, 4}, {4, 6});
  CHECK(judge(std::vector{good, good}).holds());

  auto small = seed({2, 4}, {2, 5}); // 6.25 points.
  CHECK_FALSE(judge(std::vector{small, small, good}).gains);

  // One seed falls: within the error it is noise, beyond it a loss.
  auto error = evaluation_error(std::vector{good}, metric::avg_at_k);
  CHECK(error == Approx(0.125).margin(0.005));
  auto noise = seed({2, 4}, {2, 3}), loss = seed({2, 4}, {1, 1});
  CHECK_FALSE(judge(std::vector{good, good, noise}).loses);
  auto found = judge(std::vector{good, good, loss});
  CHECK(found.gains);
  CHECK(found.loses);
  CHECK_FALSE(found.holds());

  auto narrow = seed({1, 1, 4, 4}, {0, 8, 8, 8}); // One task is lost.
  CHECK_FALSE(judge(std::vector{narrow}).passes);

  auto slow = good;
  for (auto& task : slow.after.tasks)
    task.faster = 0;
  CHECK_FALSE(judge(std::vector{slow}).faster);
}

TEST_CASE("what was learnt shows by task, tag and category", "[bench][seeds]") {
  std::vector all = {seed({0, 4, 8}, {4, 4, 4}), seed({0, 4, 8}, {8, 4, 4})};
  auto tasks = by_task(all);
  REQUIRE(tasks.size() == 3);
  CHECK(tasks[0].name == "a");
  CHECK(tasks[0].gain() == Approx(0.75));
  CHECK(tasks[2].name == "c");
  CHECK(tasks[2].gain() == Approx(-0.5));

  auto tags = by_tag(all, {{"a", {"relu"}}, {"b", {"relu"}}, {"c", {"sum"}}});
  REQUIRE(tags.size() == 2);
  CHECK(tags[0].name == "relu");
  CHECK(tags[0].tasks == 2);
  CHECK(tags[0].before == Approx(0.25));
  CHECK(tags[0].after == Approx(0.625));

  auto categories = by_category(all);
  REQUIRE(categories.size() == 2);
  CHECK(categories[0].name == "ok");
  CHECK(categories[0].before == Approx(0.5));
  CHECK(categories[0].after == Approx((12.0 / 24 + 16.0 / 24) / 2));
  CHECK(categories[0].gain() == Approx(-categories[1].gain()));
}
