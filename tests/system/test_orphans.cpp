#include "tests/system/process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

using test_clock = std::chrono::steady_clock;
using swage::test::process;

namespace {

namespace fs = std::filesystem;

struct relative {
  pid_t pid = 0;
  int depth = 0; ///< 1: a child.
  std::string name;
};

/// Name and parent of a process; parent 0 if it is gone.
relative look_at(pid_t pid, pid_t& parent) {
  std::ifstream in{fmt::format("/proc/{}/stat", pid)};
  // Not by an iterator over the buffer: that throws where the process ended
  // between opening and reading.
  std::string text;
  std::getline(in, text, '\0');
  auto begin = text.find('('), end = text.rfind(')');
  parent = 0;
  if (end == std::string::npos)
    return {};
  char state = 0;
  std::sscanf(text.c_str() + end + 1, " %c %d", &state, &parent);
  return {pid, 0, text.substr(begin + 1, end - begin - 1)};
}

std::vector<relative> descendants(pid_t of) {
  std::vector<std::pair<pid_t, relative>> all; // by parent
  for (auto& entry : fs::directory_iterator{"/proc"}) {
    auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    pid_t parent = 0;
    auto one = look_at(std::stoi(name), parent);
    if (parent > 0)
      all.emplace_back(parent, one);
  }
  std::vector<relative> out = {{of, 0, {}}};
  for (size_t i = 0; i < out.size(); ++i)
    for (auto& [parent, one] : all)
      if (parent == out[i].pid)
        out.push_back({one.pid, out[i].depth + 1, one.name});
  out.erase(out.begin());
  return out;
}

/// The descendants, as soon as they are as `wanted` says.
std::vector<relative>
await(process& root,
      const std::function<bool(const std::vector<relative>&)>& wanted) {
  auto until = test_clock::now() + std::chrono::seconds{200};
  while (test_clock::now() < until && !root.poll()) {
    auto found = descendants(root.pid());
    if (wanted(found))
      return found;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return {};
}

/// Descriptors of processes, which tell of their end.
class watched {
public:
  explicit watched(std::vector<relative> who) : who_(std::move(who)) {
    for (auto& one : who_)
      fds_.push_back(
        static_cast<int>(::syscall(SYS_pidfd_open, one.pid, 0)));
  }
  ~watched() {
    for (auto fd : fds_)
      ::close(fd);
  }

  /// Whether all have ended within `limit_s`, or did so before.
  void check_gone(double limit_s) {
    auto until = test_clock::now() + std::chrono::duration<double>(limit_s);
    for (size_t i = 0; i < fds_.size(); ++i) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - test_clock::now());
      pollfd event{fds_[i], POLLIN, 0};
      INFO(who_[i].name << " at depth " << who_[i].depth);
      CHECK((fds_[i] < 0
             || ::poll(&event, 1, std::max(0, static_cast<int>(left.count())))
                  == 1));
    }
  }

private:
  std::vector<relative> who_;
  std::vector<int> fds_;
};

bool has(const std::vector<relative>& all, const std::string& name, int depth) {
  return std::any_of(all.begin(), all.end(), [&](auto& one) {
    return one.name == name && one.depth >= depth;
  });
}

struct folder {
  folder() : path(fs::temp_directory_path()
                  / fmt::format("swage-orphans-{}", ::getpid())) {
    fs::create_directories(path);
  }
  ~folder() { fs::remove_all(path); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream{path / name} << text;
    return path / name;
  }

  fs::path path;
};

fs::path program() {
  auto* bin = std::getenv("SWAGE_BIN");
  REQUIRE(bin);
  return fs::path{bin} / "swage";
}

constexpr auto task = R"(
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(8)]
)";

constexpr auto endless = R"(
extern "C" void kernel(const float* x, float* y, int64_t n) {
  for (volatile int go = 1; go;) {}
  y[0] = x[n - 1];
}
)";

} // namespace

TEST_CASE("nobody outlives a verifier that is killed", "[system][orphans]") {
  folder in;
  process verify{program(),
                 {"verify", "--task", in.write("t.py", task).string(),
                  "--candidate", in.write("k.cpp", endless).string()},
                 in.path / "out"};
  // Worker, the first process of its namespace, and the candidate.
  auto family = await(
    verify, [](auto& all) { return has(all, "swage-worker", 3); });
  REQUIRE_FALSE(family.empty());
  CHECK(std::count_if(family.begin(), family.end(),
                      [](auto& one) { return one.depth == 1; })
        >= 3); // Judge and timing template beside it.
  watched all{family};
  verify.signal(SIGKILL);
  // Sooner than the candidate's own limit of CPU time would end it.
  all.check_gone(8);
}

TEST_CASE("nobody outlives the parent of a run", "[system][slow][orphans]") {
  folder in;
  auto file = in.write("x.toml", "[run]\nstages = [\"teach\", \"sft\"]\n"
                                 "[policy]\npath = \"configs/quickstart\"\n"
                                 "[verifier]\ncache_verdicts = false\n"
                                 "cache = \""
                                   + (in.path / "cache").string() + "\"\n");
  process run{program(),
              {"train", file.string(), "--out", (in.path / "run").string()},
              in.path / "out"};
  // The node, its judge, its timing template and its worker, which stay.
  auto family = await(run, [](auto& all) {
    return has(all, "swage", 1) && has(all, "swage-worker", 2)
           && all.size() >= 4;
  });
  REQUIRE_FALSE(family.empty());
  watched all{family};
  run.signal(SIGKILL);
  // A Python that still loads torch sees it only then.
  all.check_gone(120);
}
