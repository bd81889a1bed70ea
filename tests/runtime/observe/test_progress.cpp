#include "runtime/observe/progress.hpp"

#include <catch2/catch_test_macros.hpp>

using swage::progress;
using swage::progress_event;

namespace {

progress_event at(uint64_t done, std::string note = "") {
  return {"sft", done, 600, "steps", std::move(note)};
}

} // namespace

TEST_CASE("a line tells rate and time left", "[runtime][observe]") {
  progress lines{{.line_s = 10}};
  CHECK(lines.update(at(0), 100) == "sft        0/600 steps\n");
  CHECK(lines.update(at(60, "loss 0.5"), 130)
        == "sft        60/600 steps, 2/s, 4 min 30 s left, loss 0.5\n");
}

TEST_CASE("lines come now and then only", "[runtime][observe]") {
  progress lines{{.line_s = 10}};
  CHECK(lines.update(at(0), 0));
  CHECK_FALSE(lines.update(at(5), 9.9));
  CHECK(lines.update(at(6), 10));
  CHECK_FALSE(lines.update(at(7), 19.9));
}

TEST_CASE("the end of a stage is said once", "[runtime][observe]") {
  progress lines{{.line_s = 10}};
  CHECK(lines.update(at(0), 0));
  CHECK(lines.update(at(600), 3) == "sft        600/600 steps, 200/s in 3 s\n");
  CHECK_FALSE(lines.update(at(600), 60));
}

TEST_CASE("a new stage speaks at once", "[runtime][observe]") {
  progress lines{{.line_s = 10}};
  CHECK(lines.update(at(0), 0));
  CHECK(lines.update({"eval", 0, 0, "samples", ""}, 0.1)
        == "eval       0 samples\n");
  CHECK(lines.update({"eval", 30, 0, "samples", ""}, 20.1)
        == "eval       30 samples, 1.5/s\n");
}

TEST_CASE("a terminal has one line rewritten", "[runtime][observe]") {
  progress lines{{.terminal = true, .redraw_s = 0.5}};
  CHECK(lines.update(at(0), 0) == "\r\x1b[Ksft        0/600 steps");
  CHECK_FALSE(lines.update(at(1), 0.4));
  CHECK(lines.update(at(2), 1)
        == "\r\x1b[Ksft        2/600 steps, 2/s, 4 min 59 s left");
  CHECK(lines.update(at(600), 1.1)->ends_with("\n"));
  CHECK(lines.finish().empty());
}

TEST_CASE("a stage leaves the line of another", "[runtime][observe]") {
  progress lines{{.terminal = true}};
  CHECK(lines.update(at(0), 0));
  CHECK(lines.update({"eval", 0, 8, "samples", ""}, 1)
        == "\n\r\x1b[Keval       0/8 samples");
  CHECK(lines.finish() == "\n");
  CHECK(lines.finish().empty());
}

TEST_CASE("a rewritten line never wraps or splits", "[runtime][observe]") {
  progress lines{{.terminal = true, .width = 24}};
  CHECK(lines.update(at(0, "ééééé"), 0) == "\r\x1b[Ksft        0/600 steps, ");
  CHECK(lines.update({"eval", 0, 0, "", "ééééééé"}, 9)
        == "\n\r\x1b[Keval       0 , ééééééé");
}

TEST_CASE("a redo starts its rate anew", "[runtime][observe]") {
  progress lines{{.line_s = 1}};
  CHECK(lines.update(at(50), 0));
  CHECK(lines.update(at(100), 10)->find("5/s") != std::string::npos);
  CHECK(lines.update(at(40), 20) == "sft        40/600 steps\n");
  CHECK(lines.update(at(60), 30)->find("2/s") != std::string::npos);
}

TEST_CASE("what a cache answers is in no rate", "[runtime][observe]") {
  progress lines{{.line_s = 10}};
  auto known = [](uint64_t done, uint64_t cached) {
    return progress_event{"verify", done, 100, "samples", "3 ok", cached};
  };
  CHECK(lines.update(known(1, 1), 0)
        == "verify     1/100 samples, 1 from the cache, 3 ok\n");
  CHECK(lines.update(known(60, 40), 10)
        == "verify     60/100 samples, 2/s, 20 s left, 40 from the cache, 3 "
           "ok\n");
  progress others{{.line_s = 10}};
  CHECK(others.update(known(1, 1), 0));
  CHECK(others.update(known(100, 100), 0.1)
        == "verify     100/100 samples, 100 from the cache, 3 ok\n");
}

TEST_CASE("a rate that no work has is left out", "[runtime][observe]") {
  progress lines{{.line_s = 10}};
  CHECK(lines.update({"teach", 0, 0, "tasks", ""}, 0));
  CHECK(lines.update({"teach", 123456, 0, "tasks", ""}, 10)
        == "teach      123456 tasks\n");
}

TEST_CASE("durations read like a person's", "[runtime][observe]") {
  CHECK(swage::duration_text(0) == "0 s");
  CHECK(swage::duration_text(59.4) == "59 s");
  CHECK(swage::duration_text(59.6) == "1 min 00 s");
  CHECK(swage::duration_text(3725) == "1 h 02 min");
  CHECK(swage::duration_text(1e300) == "a long time");
  CHECK(swage::duration_text(-3) == "0 s");
}
