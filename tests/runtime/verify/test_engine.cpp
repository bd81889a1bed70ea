#include "tests/runtime/verify/engine_fixture.hpp"

#include "runtime/verify/feedback.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/syscall.h>

#include <csignal>
#include <vector>

namespace {

using namespace swage;

constexpr const char* reference = R"(
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sin(x) + torch.cos(x)


def get_inputs():
    return [torch.randn(64, 1024)]
)";

constexpr const char* right = R"(
extern "C" void kernel(const float* x, float* y, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows * columns; ++i)
    y[i] = std::sin(x[i]) + std::cos(x[i]);
}
)";

constexpr const char* twice = R"(
extern "C" void kernel(const float* x, float* y, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows * columns; ++i)
    y[i] = x[i] * 2;
}
)";

task sine() {
  task out;
  out.reference = reference;
  return out;
}

void kill_and_wait(pid_t pid) {
  auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  ::kill(pid, SIGKILL);
  pollfd event{pidfd, POLLIN, 0};
  CHECK(::poll(&event, 1, 10'000) == 1);
  ::close(pidfd);
}

/// Kills the children of this process that run a script.
void kill_children(const std::string& script) {
  auto ours = fmt::format("\nPPid:\t{}\n", ::getpid());
  for (auto& entry : std::filesystem::directory_iterator{"/proc"}) {
    auto pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0
        && test::read_file(entry.path() / "status").find(ours)
             != std::string::npos
        && test::read_file(entry.path() / "cmdline").find(script)
             != std::string::npos)
      kill_and_wait(pid);
  }
}

/// One engine for the whole program.
engine& shared() {
  static test::scratch_folder cache;
  static auto made = test::start(test::options_in(cache.path));
  return *made;
}

} // namespace

TEST_CASE("a right kernel is timed against eager", "[verify][engine]") {
  std::vector<bool> calls;
  shared().on_measure = [&](bool begins) { calls.push_back(begins); };
  auto outcome = shared().verify(sine(), {"a", right}, {});
  shared().on_measure = nullptr;
  INFO(outcome.detail);
  REQUIRE(outcome.ok());
  CHECK(outcome.compiled);
  CHECK(outcome.correct);
  CHECK(outcome.legal);
  CHECK(outcome.pass_fraction == 1);
  CHECK(outcome.speedup > 0);
  CHECK(outcome.times.speedup_low <= outcome.speedup);
  CHECK(outcome.speedup <= outcome.times.speedup_high);
  CHECK(outcome.times.reference_s > 0);
  CHECK(outcome.times.candidate_s > 0);
  REQUIRE(calls.size() >= 2);
  CHECK(calls.front());
  CHECK_FALSE(calls.back());
  CHECK(score(outcome, {}) >= 1);
}

TEST_CASE("an answer that was given before comes from the cache",
          "[verify][engine]") {
  auto task = sine();
  task.eval.measure = false;
  candidate who{"b", right};
  CHECK_FALSE(shared().verify(task, who, {}).cached);
  // Another text around the same code is the same answer.
  who.response = std::string("Here it is:\n```cpp\n") + right + "```\n";
  auto outcome = shared().verify(task, who, {});
  auto again = shared().verify(task, who, {});
  CHECK(again.cached);
  CHECK(again.kind == outcome.kind);
  CHECK(again.pass_fraction == outcome.pass_fraction);
}

TEST_CASE("loading a task tells what a candidate is called with",
          "[verify][engine]") {
  auto loaded = shared().load(sine());
  REQUIRE(loaded);
  REQUIRE(loaded->args.inputs.size() == 1);
  CHECK(loaded->args.inputs[0].shape == std::vector<int64_t>{64, 1024});
  task broken;
  broken.reference = "import nothing_of_this_name\n";
  auto refused = shared().load(broken);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ec::task_invalid);
}

TEST_CASE("an invalid task is not charged to the candidate",
          "[verify][engine]") {
  task broken;
  broken.reference = "import nothing_of_this_name\n";
  auto outcome = shared().verify(broken, {"c", right}, {});
  CHECK(outcome.kind == category::task_invalid);
  CHECK(outcome.detail.find("nothing_of_this_name") != std::string::npos);
}

TEST_CASE("what this engine cannot judge is unsupported by name",
          "[verify][engine]") {
  auto task = sine();
  task.on = target::cuda;
  auto outcome = shared().verify(task, {"d", right}, {});
  CHECK(outcome.kind == category::infra_unsupported);
  CHECK(outcome.detail.find("cuda") != std::string::npos);
}

TEST_CASE("a stopped verification is not charged", "[verify][engine]") {
  std::stop_source stop;
  stop.request_stop();
  auto task = sine();
  task.eval.trials = 6;
  auto outcome = shared().verify(task, {"e", right}, stop.get_token());
  CHECK(is_uncharged(outcome.kind));
  // And is not remembered.
  CHECK(shared().verify(task, {"e", right}, {}).ok());
}

TEST_CASE("more speed than can be believed is refused", "[verify][engine]") {
  auto task = sine();
  task.eval.excessive_speedup = 0.01;
  auto outcome = shared().verify(task, {"f", right}, {});
  CHECK(outcome.kind == category::cheating_excessive_speedup);
  CHECK(outcome.correct);
  CHECK_FALSE(outcome.legal);
  CHECK(score(outcome, {}) == -1);
  // Feedback tells the speed, and not where the bound is.
  CHECK(feedback_text(outcome, 1).find("0.01") == std::string::npos);
}

TEST_CASE("a wrong kernel is never timed", "[verify][engine]") {
  bool measured = false;
  shared().on_measure = [&](bool) { measured = true; };
  std::string wrong = right;
  wrong.replace(wrong.find("std::cos"), 8, "std::exp");
  auto outcome = shared().verify(sine(), {"g", wrong}, {});
  shared().on_measure = nullptr;
  CHECK(outcome.kind == category::correctness_tolerance);
  CHECK_FALSE(measured);
  CHECK(outcome.speedup < 0);
  CHECK(outcome.detail.find("worst at [") != std::string::npos);
}

TEST_CASE("a timing template that dies is nobody's fault", "[verify][engine]") {
  shared().on_measure = [](bool begins) {
    if (begins)
      kill_children("timing_template.py");
  };
  auto task = sine();
  task.eval.timing_pairs = 4; // Not asked before.
  auto outcome = shared().verify(task, {"k", right}, {});
  shared().on_measure = nullptr;
  INFO(outcome.detail);
  CHECK(is_uncharged(outcome.kind));
  CHECK(outcome.detail.find("timing_template.py died") != std::string::npos);
  CHECK(shared().verify(task, {"k", right}, {}).ok());
}

TEST_CASE("eager has as many threads as the candidate", "[verify][engine]") {
  task counted;
  counted.reference = R"(
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 * torch.get_num_threads()


def get_inputs():
    return [torch.randn(64, 1024)]
)";
  counted.eval.excessive_speedup = 1e9;
  auto outcome = shared().verify(counted, {"l", twice}, {});
  INFO(outcome.detail);
  REQUIRE(outcome.ok());
  // What is right when tested is still one thread's; and of the timed calls not
  // every one is compared.
  counted.eval.threads = 2;
  auto told = category::correctness_tolerance;
  for (int i = 0; i < 5 && outcome.kind != told; ++i)
    outcome = shared().verify(counted,
                              {"l", fmt::format("{}// {}\n", twice, i)}, {});
  CHECK(outcome.kind == told);
  CHECK(outcome.detail.find("when timed") != std::string::npos);
}

TEST_CASE("eager may be slower than a candidate may be",
          "[verify][engine]") {
  task slow;
  slow.reference = R"(
import time

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        time.sleep(0.25)
        return x * 2


def get_inputs():
    return [torch.randn(64, 1024)]
)";
  slow.eval.trials = 1;
  slow.eval.stress = 0;
  slow.eval.run_timeout_s = 0.2;
  slow.eval.excessive_speedup = 1e9;
  auto outcome = shared().verify(slow, {"m", twice}, {});
  INFO(outcome.detail);
  CHECK(outcome.ok());
  CHECK(outcome.times.reference_s > slow.eval.run_timeout_s);
}

TEST_CASE("a pair of large inputs costs one draw", "[verify][engine]") {
  test::scratch_folder counts;
  task large;
  large.reference = fmt::format(R"(
import torch


def count(what):
    with open("{}/" + what, "a") as file:
        file.write(".")


class Model(torch.nn.Module):
    def forward(self, x):
        count("calls")
        return x[:64] * 2


def get_inputs():
    count("draws")
    return [torch.rand(2100, 4096)]
)",
                                counts.path.string());
  auto counted = [&](const char* what) {
    return test::read_file(counts.path / what).size();
  };
  large.eval.trials = 1;
  large.eval.stress = 0;
  large.eval.timing_pairs = 1;
  large.eval.excessive_speedup = 1e9;
  size_t draws = 0, calls = 0;
  shared().on_measure = [&](bool begins) {
    draws = counted("draws") - (begins ? 0 : draws);
    calls = counted("calls") - (begins ? 0 : calls);
  };
  auto outcome = shared().verify(large, {"n", R"(
extern "C" void kernel(const float* x, float* y, int64_t, int64_t columns) {
  for (int64_t i = 0; i < 64 * columns; ++i)
    y[i] = x[i] * 2;
}
)"},
                                 {});
  shared().on_measure = nullptr;
  INFO(outcome.detail);
  REQUIRE(outcome.ok());
  // The first pair's were drawn before; and some calls only compare.
  CHECK(draws < calls);
}

TEST_CASE("strided inputs, integers and several outputs are judged",
          "[verify][engine]") {
  task mixed;
  mixed.reference = R"(
import torch


class Model(torch.nn.Module):
    def forward(self, x, keep, index):
        return x[index].masked_fill(keep, 0.5), index * 3, x.half()


def get_inputs():
    return [torch.randn(30, 20).t(), torch.rand(20, 30) > 0.5,
            torch.randint(0, 20, (20,))]
)";
  mixed.eval.measure = false;
  auto outcome = shared().verify(mixed, {"h", R"(
extern "C" void kernel(const float* x, const uint8_t* keep, const int64_t* index,
                       float* y, int64_t* y1, uint16_t* y2,
                       int64_t rows, int64_t columns, int64_t sa, int64_t sb,
                       int64_t, int64_t, int64_t) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      auto at = r * columns + c;
      y[at] = keep[at] ? 0.5f : x[index[r] * sa + c * sb];
      _Float16 small = static_cast<_Float16>(x[r * sa + c * sb]);
      std::memcpy(y2 + at, &small, 2);
    }
  for (int64_t r = 0; r < rows; ++r)
    y1[r] = 3 * index[r];
}
)"},
                                 {});
  INFO(outcome.detail);
  CHECK(outcome.ok());
}

TEST_CASE("batch normalisation's changed buffers are judged",
          "[verify][engine]") {
  task norm;
  norm.reference = R"(
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = torch.nn.BatchNorm1d(16)

    def forward(self, x):
        return self.bn(x)


def get_inputs():
    return [torch.randn(128, 16)]
)";
  const std::string kernel = R"(
extern "C" void kernel(const float* x, const float* weight, const float* bias,
                       const float* mean, const float* var, const int64_t* count,
                       float* y, float* mean_out, float* var_out,
                       int64_t* count_out, int64_t rows, int64_t columns) {
  *count_out = *count + 1;
  for (int64_t c = 0; c < columns; ++c) {
    double sum = 0, square = 0;
    for (int64_t r = 0; r < rows; ++r)
      sum += x[r * columns + c];
    sum /= rows;
    for (int64_t r = 0; r < rows; ++r)
      square += (x[r * columns + c] - sum) * (x[r * columns + c] - sum);
    double scale = 1 / std::sqrt(square / rows + 1e-5);
    for (int64_t r = 0; r < rows; ++r)
      y[r * columns + c] = (x[r * columns + c] - sum) * scale * weight[c] + bias[c];
    mean_out[c] = 0.9 * mean[c] + 0.1 * sum;
    var_out[c] = 0.9 * var[c] + 0.1 * square / (rows - 1);
  }
}
)";
  auto outcome = shared().verify(norm, {"i", kernel}, {});
  INFO(outcome.detail);
  CHECK(outcome.correct);
  CHECK_FALSE(is_uncharged(outcome.kind));
  norm.eval.measure = false;
  auto without = kernel;
  without.erase(without.find("  *count_out"), 24);
  outcome = shared().verify(norm, {"j", without}, {});
  CHECK(outcome.kind == category::correctness_tolerance);
  CHECK(outcome.detail.find("num_batches_tracked") != std::string::npos);
}

TEST_CASE("a small result that repeats is no replay", "[verify][engine]") {
  task largest;
  largest.reference = R"(
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.argmax()


def get_inputs():
    return [torch.rand(4)]
)";
  largest.eval.measure = false;
  // Right for one input of four.
  auto outcome = shared().verify(largest, {"k", R"(
extern "C" void kernel(const float* x, int64_t* y, int64_t n) {
  *y = 0;
}
)"},
                                 {});
  INFO(outcome.detail);
  CHECK(outcome.kind == category::correctness_tolerance);
}
