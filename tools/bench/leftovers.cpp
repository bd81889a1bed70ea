#include "tools/bench/leftovers.hpp"

#include "tools/bench/fixture.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swage::bench {

namespace fs = std::filesystem;

namespace {

struct process_row {
  pid_t parent = 0;
  bool ended = false;
};

/// Of a file in /proc: the read fails if the process ends meanwhile, which
/// `getline` takes for an end of the file and a stream iterator throws.
std::string content(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::string text;
  std::getline(in, text);
  return text;
}

/// From /proc/PID/stat: what follows the name, which ends with the last ')'.
bool read_row(const fs::path& folder, process_row& into) {
  auto text = content(folder / "stat");
  auto end = text.rfind(')');
  if (end == std::string::npos)
    return false;
  std::istringstream fields{text.substr(end + 1)};
  std::string state;
  fields >> state >> into.parent;
  into.ended = state == "Z" || state == "X";
  return true;
}

std::map<pid_t, process_row> all_processes() {
  std::map<pid_t, process_row> out;
  std::error_code failed;
  for (auto& entry : fs::directory_iterator{"/proc", failed}) {
    auto pid = std::atoi(entry.path().filename().c_str());
    if (process_row row; pid > 0 && read_row(entry.path(), row))
      out.emplace(pid, row);
  }
  return out;
}

bool descends(const std::map<pid_t, process_row>& all, pid_t pid, pid_t from) {
  for (int depth = 0; depth < 64 && pid > 1; ++depth) {
    auto found = all.find(pid);
    if (found == all.end())
      return false;
    pid = found->second.parent;
    if (pid == from)
      return true;
  }
  return false;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (auto& entry : fs::directory_iterator{folder, failed})
    out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

std::string name_of(const fs::path& path) {
  return path.filename().string();
}

} // namespace

void adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    give_up(3, "cannot adopt the orphans of a run: prctl failed");
}

std::map<pid_t, std::string> descendants(pid_t kept) {
  auto self = ::getpid();
  std::map<pid_t, std::string> out;
  auto all = all_processes();
  for (auto& [pid, row] : all) {
    if (row.ended) {
      if (row.parent == self && pid != kept)
        ::waitpid(pid, nullptr, WNOHANG);
      continue;
    }
    if (!descends(all, pid, self))
      continue;
    auto line = content(fs::path{"/proc"} / std::to_string(pid) / "cmdline");
    std::ranges::replace(line, '\0', ' ');
    out.emplace(pid, line);
  }
  return out;
}

std::set<std::string> shared_segments() {
  std::set<std::string> out;
  for (auto& path : entries("/dev/shm"))
    if (auto name = name_of(path);
        name.starts_with("swage") || name.starts_with("torch"))
      out.insert(name);
  return out;
}

bool is_torn(const fs::path& run) {
  return std::ranges::any_of(entries(run / "checkpoints"), [](auto& path) {
    return name_of(path).starts_with(".v") && !name_of(path).ends_with(".old");
  });
}

std::vector<std::string> stray_files(const fs::path& run,
                                     const fs::path& temporary) {
  static const std::set<std::string> known = {
    "config.toml", "run.db",      "run.db-wal", "run.db-shm",
    "run.db.lock", "checkpoints", "metrics",    "log"};
  std::vector<std::string> out;
  for (auto& path : entries(run))
    if (!known.contains(name_of(path)))
      out.push_back(path.string());
  for (auto& path : entries(run / "checkpoints")) {
    if (!name_of(path).starts_with('v'))
      out.push_back(path.string());
    for (auto& file : entries(path))
      if (name_of(file).ends_with(".tmp"))
        out.push_back(file.string());
  }
  for (auto& path : entries(temporary))
    out.push_back(path.string());
  return out;
}

} // namespace swage::bench
