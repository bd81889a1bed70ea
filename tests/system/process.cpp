#include "tests/system/process.hpp"

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace swage::test {

process::process(const std::filesystem::path& program,
                 std::vector<std::string> arguments,
                 const std::filesystem::path& output) {
  std::vector<char*> raw;
  auto name = program.string();
  raw.push_back(name.data());
  for (auto& one : arguments)
    raw.push_back(one.data());
  raw.push_back(nullptr);
  const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (log < 0)
    throw std::runtime_error("cannot write " + output.string());
  pid_ = fork();
  if (pid_ == 0) {
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(name.c_str(), raw.data());
    _exit(127);
  }
  close(log);
  if (pid_ < 0)
    throw std::runtime_error("cannot fork");
}

process::process(process&& other) noexcept
  : pid_(std::exchange(other.pid_, -1)), code_(other.code_) {}

process::~process() {
  if (pid_ < 0 || code_)
    return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<int> process::poll() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

std::optional<int> process::wait(double limit_s) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::duration<double>(limit_s);
  while (!poll() && clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  return code_;
}

void process::signal(int number) const {
  ::kill(pid_, number);
}

std::optional<pid_t> process::child() const {
  std::ifstream file{"/proc/" + std::to_string(pid_) + "/task/"
                     + std::to_string(pid_) + "/children"};
  pid_t found = 0;
  return file >> found ? std::optional{found} : std::nullopt;
}

bool process::signal_child(int number) const {
  auto found = child();
  return found && ::kill(*found, number) == 0;
}

uint16_t free_port() {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  auto* raw = reinterpret_cast<sockaddr*>(&where);
  if (s < 0 || bind(s, raw, size) != 0 || getsockname(s, raw, &size) != 0)
    throw std::runtime_error("cannot find a free port");
  close(s);
  return ntohs(where.sin_port);
}

} // namespace swage::test
