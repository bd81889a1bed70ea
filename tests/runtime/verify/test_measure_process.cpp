#include "runtime/verify/measure_process.hpp"
#include "runtime/verify/measure_stand.hpp"
#include "tests/runtime/verify/one_judge.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace {

using namespace swage;
using test::judge;

/// One template for the whole program.
python_process& warm() {
  static auto made = [] {
    auto library = test::from_environment("SWAGE_BIN").parent_path() / "lib"
                   / "libswage_sandbox.so";
    python_program program;
    program.python = test::from_environment("SWAGE_PYTHON");
    program.script = std::filesystem::current_path()
                     / "runtime/verify/timing_template.py";
    program.arguments = {library.string()};
    return python_process::start(program);
  }();
  REQUIRE(made);
  return **made;
}

/// A module from its forward's last line, in which `timed` tells who calls it.
task counting(const std::string& forward) {
  task out;
  out.reference = fmt::format(R"(
import os
import sys
import time

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        timed = "timing" in sys.argv[0]
        {}


def get_inputs():
    return [torch.rand(100)]
)",
                              forward);
  return out;
}

/// A reference that is timed, with inputs in place.
struct timed {
  std::shared_ptr<const judged_task> what;
  secret_seeds seeds{7};
  std::unique_ptr<timing_stand> at;
  std::unique_ptr<timed_process> side;

  explicit timed(const std::string& forward, int threads = 1) {
    auto loaded = judge().load(counting(forward));
    if (!loaded)
      FAIL(loaded.error().message);
    what = *loaded;
    draw_tools tools{*what, judge(), seeds};
    auto stand = timing_stand::open(tools, 1);
    REQUIRE(stand);
    at = std::move(*stand);
    REQUIRE(at->next_inputs(tools));
    at->hand_over();
    auto made = timed_process::reference(warm(), *what, {at->state(), threads},
                                         at->memory(), at->results());
    REQUIRE(made);
    side = std::move(*made);
    REQUIRE(side->confine(60));
    REQUIRE(side->load(60));
    REQUIRE(side->prepare(60));
  }

  float result(size_t i) const {
    return reinterpret_cast<const float*>(
      at->results().output(0, 0).data())[i];
  }

  float input(size_t i) const {
    return reinterpret_cast<const float*>(at->memory().input(0, 0).data())[i];
  }
};

} // namespace

TEST_CASE("a reference keeps the threads that it is given",
          "[verify][measure]") {
  timed one{"return x * torch.get_num_threads()", 3};
  // The state is drawn again for each call, which restores torch's settings.
  for (int call = 0; call < 2; ++call) {
    REQUIRE(one.side->prepare(60));
    REQUIRE(one.side->call(60));
    REQUIRE(one.side->store(60));
    for (size_t i = 0; i < 100; ++i)
      CHECK(one.result(i) == 3 * one.input(i));
  }
}

TEST_CASE("a reference takes over the state that lies in memory",
          "[verify][measure]") {
  timed one{"return x * self.scale"};
  for (int call = 0; call < 3; ++call) {
    one.at->next_state(one.seeds);
    one.at->hand_over();
    auto scale = reinterpret_cast<const float*>(
      one.at->memory().state(0, 0).data())[0];
    REQUIRE(one.side->prepare(60));
    REQUIRE(one.side->call(60));
    REQUIRE(one.side->store(60));
    for (size_t i = 0; i < 100; ++i)
      CHECK(one.result(i) == scale * one.input(i));
  }
}

TEST_CASE("a reference that ends its turn says how", "[verify][measure]") {
  struct row {
    const char* forward;
    double limit_s;
    category kind;
    const char* said;
  };
  constexpr auto measured = category::infra_measurement;
  for (const auto& [forward, limit_s, kind, said] : {
         row{"time.sleep(30 * timed); return x * 2", 0.1,
             category::infra_timeout,
             "the reference: did not return within 0.1 s"},
         row{"assert not timed; return x * 2", 60, measured,
             "the reference: uncaught exception"},
         row{"os._exit(5) if timed else 0; return x * 2", 60, measured,
             "the reference: exited with status 5"},
         row{"os.kill(os.getpid(), 6 * timed); return x * 2", 60, measured,
             "the reference: ended by signal 6"},
         row{"os.kill(os.getpid(), 9 * timed); return x * 2", 60,
             category::infra_worker, "killed from outside"},
       }) {
    CAPTURE(forward);
    timed one{forward};
    auto time = one.side->call(limit_s);
    REQUIRE_FALSE(time);
    INFO(time.error().detail);
    CHECK(time.error().kind == kind);
    CHECK(time.error().detail.find(said) != std::string::npos);
  }
}

TEST_CASE("a reference that cannot start says how it ended",
          "[verify][measure]") {
  auto loaded = judge().load(counting("return x * 2"));
  REQUIRE(loaded);
  auto broken = **loaded;
  broken.reference += "\nraise ValueError\n";
  secret_seeds seeds{7};
  auto at = timing_stand::open({**loaded, judge(), seeds}, 1);
  REQUIRE(at);
  auto side = timed_process::reference(warm(), broken, {}, (*at)->memory(),
                                       (*at)->results());
  REQUIRE(side);
  auto ready = (*side)->confine(60);
  REQUIRE_FALSE(ready);
  CHECK(ready.error().kind == category::infra_worker);
  CHECK(ready.error().detail.find("exited with status 3") != std::string::npos);
}
