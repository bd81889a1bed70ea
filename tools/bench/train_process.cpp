#include "tools/bench/train_process.hpp"

#include "tools/bench/fixture.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace swage::bench {

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& one : texts)
    out.push_back(one.data());
  out.push_back(nullptr);
  return out;
}

/// Ours, but for the variables that `added` sets.
std::vector<std::string>
environment_with(const std::vector<std::string>& added) {
  auto out = added;
  for (char** entry = environ; *entry; ++entry) {
    std::string text = *entry;
    auto name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (auto& one : added)
      replaced = replaced || one.starts_with(name);
    if (!replaced)
      out.push_back(std::move(text));
  }
  return out;
}

int append_to(const std::filesystem::path& file) {
  int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                  0644);
  if (fd < 0)
    give_up(3, fmt::format("cannot write {}: {}", file.string(),
                           std::strerror(errno)));
  return fd;
}

} // namespace

std::vector<std::string> words(const std::string& text) {
  std::istringstream in{text};
  return {std::istream_iterator<std::string>{in}, {}};
}

train_process::train_process(const train_command& what) {
  std::vector<std::string> arguments = {what.program.string(), "train"};
  arguments.insert(arguments.end(), what.arguments.begin(),
                   what.arguments.end());
  auto environment = environment_with(what.environment);
  auto argv = pointers(arguments), envp = pointers(environment);
  int output = append_to(what.output);
  int errors = what.errors.empty() ? -1 : append_to(what.errors);
  auto self = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    // What this process ignores, the program must not.
    ::signal(SIGINT, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, what.parent_death);
    if (::getppid() != self)
      ::_exit(127);
    ::dup2(output, STDOUT_FILENO);
    if (errors >= 0)
      ::dup2(errors, STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(output);
  if (errors >= 0)
    ::close(errors);
  if (pid_ < 0)
    give_up(3, fmt::format("cannot start {}: {}", what.program.string(),
                           std::strerror(errno)));
}

train_process::~train_process() {
  if (code_)
    return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
    continue;
}

std::optional<pid_t> train_process::node() const {
  std::ifstream file{fmt::format("/proc/{}/task/{}/children", pid_, pid_)};
  pid_t found = 0;
  return file >> found ? std::optional{found} : std::nullopt;
}

std::optional<int> train_process::poll() {
  int status = 0;
  if (!code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

void train_process::kill() {
  if (!code_)
    ::kill(pid_, SIGKILL);
}

} // namespace swage::bench
