#include "tools/bench/fixture.hpp"

#include <fmt/format.h>

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>

namespace swage::bench {

namespace {

namespace fs = std::filesystem;

struct process_times {
  int parent = 0;
  double cpu_s = 0;
};

/// Fields of /proc/PID/stat behind the name, which may hold anything but ends
/// with the last ')'.
bool read_stat(const fs::path& folder, process_times& into) {
  std::ifstream file{folder / "stat"};
  std::string text; // A process may end meanwhile, which this survives.
  std::getline(file, text);
  auto end = text.rfind(')');
  if (end == std::string::npos)
    return false;
  std::istringstream fields{text.substr(end + 1)};
  std::string state, skip;
  fields >> state >> into.parent;
  for (int i = 5; i < 14; ++i)
    fields >> skip;
  double ticks = 0;
  for (int i = 14; i <= 17 && fields >> ticks; ++i)
    into.cpu_s += ticks;
  into.cpu_s /= static_cast<double>(::sysconf(_SC_CLK_TCK));
  return true;
}

} // namespace

scratch::scratch() {
  auto name = (fs::temp_directory_path() / "swage-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    give_up(3, "cannot make a temporary folder");
  path = name;
}

scratch::~scratch() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void give_up(int status, const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(status);
}

engine_options options_in(const fs::path& cache) {
  engine_options options;
  const char* python = std::getenv("SWAGE_PYTHON");
  if (!python || !*python)
    give_up(2, "SWAGE_PYTHON is not set: a python that can import torch, as "
               "tools/setup --print-env tells");
  options.python = python;
  const char* bin = std::getenv("SWAGE_BIN");
  auto folder = bin && *bin ? fs::path{bin}
                            : fs::read_symlink("/proc/self/exe").parent_path();
  options.worker = folder / "swage-worker";
  options.library = fs::current_path() / "runtime/verify";
  options.cache = cache;
  if (!fs::exists(options.library / "judge.py"))
    give_up(2, "run it from the project's root");
  return options;
}

task usual_task() {
  task out;
  out.id = "bench";
  out.reference = R"(
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        return torch.sigmoid(x) * self.scale


def get_inputs():
    return [torch.randn(64, 1024)]


def get_init_inputs():
    return [1024]
)";
  return out;
}

std::string usual_kernel(uint64_t number) {
  return fmt::format(R"(
extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {{
  constexpr unsigned long long variant = {}ull;
  (void)variant;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[r * columns + c] = scale[c] / (1.0f + std::exp(-x[r * columns + c]));
}}
)",
                     number);
}

double cpu_of_all() {
  std::map<int, process_times> all;
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    auto pid = std::atoi(entry.path().filename().c_str());
    if (process_times times; pid > 0 && read_stat(entry.path(), times))
      all.emplace(pid, times);
  }
  double sum = 0;
  auto own = ::getpid();
  for (const auto& [pid, times] : all) {
    auto up = pid;
    for (int depth = 0; up != own && up > 1 && depth < 64; ++depth) {
      auto i = all.find(up);
      up = i == all.end() ? 0 : i->second.parent;
    }
    if (up == own)
      sum += times.cpu_s;
  }
  return sum;
}

bool has_flag(int argc, char** argv, const std::string& name) {
  bool found = false;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] != name)
      give_up(2, fmt::format("unknown argument '{}'; the only one is {}",
                             argv[i], name));
    found = true;
  }
  return found;
}

} // namespace swage::bench
