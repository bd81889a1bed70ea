#include "fixture.hpp"

#include "runtime/buffer/seeded.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <set>

using namespace swage;
using namespace swage::test;

TEST_CASE("levels are drawn by weight, tasks in turn", "[buffer][sources]") {
  auto tasks = some_tasks("t", 20);
  std::vector<double> weights = {0.25, 0.75};
  task_source source(tasks, weights, 7);
  std::map<size_t, int> seen;
  int second = 0;
  for (uint64_t n = 0; n < 4000; ++n) {
    auto at = source.at(n);
    ++seen[at];
    second += tasks[at].level == 2 ? 1 : 0;
  }
  CHECK(second > 2850);
  CHECK(second < 3150);
  // Within a level no task is a whole pass ahead of another.
  int low = 1 << 30, high = 0;
  for (auto& [at, n] : seen)
    if (tasks[at].level == 2) {
      low = std::min(low, n);
      high = std::max(high, n);
    }
  CHECK(high - low <= 1);
}

TEST_CASE("the nth draw does not depend on what came before",
          "[buffer][sources]") {
  auto tasks = some_tasks("t", 9);
  std::vector<double> weights = {0.5, 0.5};
  task_source one(tasks, weights, 3), two(tasks, weights, 3);
  std::vector<size_t> drawn;
  for (uint64_t n = 0; n < 50; ++n)
    drawn.push_back(one.at(n));
  CHECK(two.at(49) == drawn[49]);
  CHECK(two.at(10) == drawn[10]);
  CHECK(two.at(10) == drawn[10]);
  CHECK(two.at(11) == drawn[11]);
}

TEST_CASE("levels without weight are not drawn", "[buffer][sources]") {
  auto tasks = some_tasks("t", 8);
  std::vector<double> first = {1};
  task_source only(tasks, first, 1);
  std::vector<double> none;
  task_source equal(tasks, none, 1);
  std::set<int32_t> levels;
  for (uint64_t n = 0; n < 100; ++n) {
    CHECK(tasks[only.at(n)].level == 1);
    levels.insert(tasks[equal.at(n)].level);
  }
  CHECK(levels.size() == 2);
}

TEST_CASE("every epoch has each example once", "[buffer][sources]") {
  std::vector<example> pool;
  for (uint64_t i = 0; i < 10; ++i)
    pool.push_back({i, 0, i, i, false});
  example_source source(pool, 5);
  std::vector<std::vector<uint64_t>> epochs(3);
  for (uint64_t number = 0; number < 15; ++number)
    for (auto& one : source.batch(number, 2))
      epochs[number / 5].push_back(one.item);
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    for (uint64_t i = 0; i < 10; ++i)
      CHECK(epoch[i] == i);
  }
  CHECK(source.batch(0, 10).front().item == 0);
  // A function of the number alone.
  example_source again(pool, 5);
  auto late = again.batch(12, 2);
  auto same = source.batch(12, 2);
  CHECK(late[0].item == same[0].item);
  CHECK(late[1].item == same[1].item);
}

TEST_CASE("one sampled example is drawn per task and epoch",
          "[buffer][sources]") {
  std::vector<example> pool;
  for (uint64_t task = 0; task < 3; ++task)
    for (uint32_t i = 0; i < 20; ++i)
      pool.push_back({task, i, task, i, true});
  pool.push_back({2, 20, 2, 0, true}); // The same text again counts once.
  example_source source(pool, 1);
  REQUIRE(source.size() == 3);
  std::set<uint32_t> used;
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    auto members = source.batch(epoch, 3);
    for (uint64_t task = 0; task < 3; ++task)
      CHECK(members[task].item == task);
    used.insert(members[0].index);
  }
  CHECK(used.size() == 8);
}

TEST_CASE("an empty pool makes no batch", "[buffer][sources]") {
  example_source source({}, 1);
  CHECK(source.batch(0, 4).empty());
}

TEST_CASE("a shuffle keeps every number", "[buffer][sources]") {
  for (uint32_t n : {0u, 1u, 2u, 1000u}) {
    auto order = shuffled(3, n);
    std::set<uint32_t> all(order.begin(), order.end());
    CHECK(all.size() == n);
  }
  CHECK(shuffled(1, 100) != shuffled(2, 100));
}
