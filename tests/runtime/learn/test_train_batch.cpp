#include "runtime/learn/train_batch.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

TEST_CASE("more ranks than threads to share are said", "[runtime][learn]") {
  config settings;
  CHECK(thread_warnings(settings).empty());
  settings.actors.learner = 3;
  settings.learner.threads = 2;
  auto told = thread_warnings(settings);
  REQUIRE(told.size() == 1); // As many as cores are never too few.
  CHECK(told[0]
        == "learner.threads = 2 is less than actors.learner = 3: each rank "
           "trains on a thread of its own, so 3 are used");
  batch rl;
  rl.kind = stage_kind::rl_single;
  CHECK(options_for(rl, settings).threads == 1);
  settings.learner.threads = 3;
  settings.learner.sft_threads = 1;
  told = thread_warnings(settings);
  REQUIRE(told.size() == 1);
  CHECK(told[0].starts_with("learner.sft_threads = 1 is less than "));
}
