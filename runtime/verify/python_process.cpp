#include "runtime/verify/python_process.hpp"

#include "runtime/verify/openmp_environment.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

extern char** environ;

namespace swage {

namespace {

using clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr int child_socket = 3;
constexpr uint32_t max_message_bytes = uint32_t{256} << 20;

/// How often a wait looks at its stop token.
constexpr int stop_poll_ms = 50;

std::vector<std::string> child_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    std::string text = *entry;
    if (!text.starts_with("OMP_") && !text.starts_with("MKL_")
        && !text.starts_with("KMP_") && !text.starts_with("PYTHON"))
      out.push_back(std::move(text));
  }
  out.insert(out.end(), openmp_environment.begin(), openmp_environment.end());
  out.insert(out.end(),
             {"MKL_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES=",
              "PYTHONDONTWRITEBYTECODE=1", "PYTHONNOUSERSITE=1"});
  return out;
}

std::string wrong_python(const python_program& what, std::string_view why) {
  return fmt::format("{} cannot run {}: {}; run tools/setup, or set "
                     "SWAGE_PYTHON to a Python with torch",
                     what.python.string(), what.script.filename().string(),
                     why.empty() ? "it ended without a word" : why);
}

result<pid_t> spawn(const python_program& what, int socket, int words) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  for (int standard : {1, 2})
    posix_spawn_file_actions_adddup2(&actions, words < 0 ? 0 : words, standard);
  posix_spawn_file_actions_adddup2(&actions, socket, child_socket);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C at a terminal is for us, who then end it.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  auto number = std::to_string(child_socket);
  std::vector<const char*> argv{what.python.c_str(), what.script.c_str(),
                                number.c_str()};
  for (const auto& argument : what.arguments)
    argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  auto environment = child_environment();
  std::vector<char*> envp;
  for (auto& entry : environment)
    envp.push_back(entry.data());
  envp.push_back(nullptr);
  pid_t pid = -1;
  auto status = posix_spawn(&pid, what.python.c_str(), &actions, &attributes,
                            const_cast<char**>(argv.data()), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (status != 0)
    return fail(status == EAGAIN || status == ENOMEM ? ec::infra
                                                     : ec::unsupported,
                wrong_python(what, std::strerror(status)));
  return pid;
}

/// A deadline that also ends with a stop token.
struct patience {
  clock::time_point until;
  const std::stop_token& stop;

  patience(double timeout_s, const std::stop_token& token)
    : until{clock::now()
            + std::chrono::duration_cast<clock::duration>(
              std::chrono::duration<double>(timeout_s))},
      stop{token} {
  }

  /// Waits for `events`; none once it is ready.
  std::optional<ec> wait(int fd, short events) const {
    for (;;) {
      if (stop.stop_requested())
        return ec::cancelled;
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    until - clock::now())
                    .count();
      if (left < 0)
        return ec::timeout;
      auto slice = static_cast<int>(
        stop.stop_possible() ? std::min<int64_t>(left + 1, stop_poll_ms)
                             : std::min<int64_t>(left + 1, 60'000));
      pollfd entry{fd, events, 0};
      auto status = ::poll(&entry, 1, slice);
      if (status > 0)
        return std::nullopt;
      if (status < 0 && errno != EINTR)
        return ec::infra;
    }
  }
};

bool again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

std::optional<ec> send_all(int fd, std::string_view bytes,
                           std::span<const int> fds, const patience& until) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 8)> control{};
  bool first = true;
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (first && !fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      auto* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    auto sent = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      first = false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!again()) {
      return ec::infra;
    } else if (auto bad = until.wait(fd, POLLOUT)) {
      return bad;
    }
  }
  return std::nullopt;
}

std::optional<ec> receive_all(int fd, std::span<char> into,
                              const patience& until) {
  while (!into.empty()) {
    auto got = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0)
      into = into.subspan(static_cast<size_t>(got));
    else if (got == 0 || !again())
      return ec::infra;
    else if (auto bad = until.wait(fd, POLLIN))
      return bad;
  }
  return std::nullopt;
}

result<json> receive(int fd, const patience& until) {
  std::array<char, 4> head;
  if (auto bad = receive_all(fd, head, until))
    return fail(*bad, "no answer");
  uint32_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  if (size > max_message_bytes)
    return fail(ec::infra, fmt::format("an answer of {} bytes", size));
  std::string body(size, '\0');
  if (auto bad = receive_all(fd, body, until))
    return fail(*bad, "half an answer");
  auto parsed = json::parse(body, nullptr, false);
  if (parsed.is_discarded())
    return fail(ec::infra, "an answer that is no JSON");
  return parsed;
}

} // namespace

python_process::python_process(python_program what) : what_{std::move(what)} {
}

python_process::~python_process() {
  end();
}

result<std::unique_ptr<python_process>>
python_process::start(const python_program& what) {
  if (::access(what.script.c_str(), R_OK) != 0)
    return fail(ec::not_found, fmt::format("'{}' is missing",
                                           what.script.string()));
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(ec::infra, fmt::format("socketpair: {}", std::strerror(errno)));
  // posix_spawn leaves CLOEXEC on if both numbers are the same.
  if (ends[1] == child_socket)
    ends[1] = ::fcntl(child_socket, F_DUPFD_CLOEXEC, child_socket + 1);
  std::unique_ptr<python_process> made{new python_process{what}};
  made->socket_ = ends[0];
  auto pid = spawn(what, ends[1], made->words_.fd());
  ::close(ends[1]);
  if (!pid)
    return tl::unexpected{pid.error()};
  made->pid_ = *pid;
  return made;
}

result<void> python_process::wait_until_ready(const std::stop_token& stop) {
  patience until{what_.start_timeout_s, stop};
  auto greeting = receive(socket_, until);
  if (!greeting) {
    auto code = greeting.error().code;
    auto failed = lost(code, "while it started");
    // Killed is not what a Python is that ends because something is missing.
    if (code == ec::infra && WIFEXITED(status_))
      return fail(ec::unsupported, wrong_python(what_, words_.last_line()));
    return tl::unexpected{failed};
  }
  ready_ = true;
  return {};
}

result<json> python_process::ask(const json& request, std::span<const int> fds,
                                 double timeout_s,
                                 const std::stop_token& stop) {
  if (!alive())
    return fail(ec::infra, fmt::format("{} has ended", what_.script.string()));
  if (!ready_)
    if (auto up = wait_until_ready(stop); !up)
      return tl::unexpected{up.error()};
  words_.trim();
  patience until{timeout_s, stop};
  auto body = request.dump(-1, ' ', false, json::error_handler_t::replace);
  auto size = static_cast<uint32_t>(body.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes += body;
  if (auto bad = send_all(socket_, bytes, fds, until))
    return tl::unexpected{lost(*bad, "while a request was sent")};
  auto reply = receive(socket_, until);
  if (!reply)
    return tl::unexpected{
      lost(reply.error().code,
           fmt::format("{} to '{}'", reply.error().message,
                       request.value("op", std::string{"?"})))};
  return reply;
}

error python_process::lost(ec code, const std::string& why) {
  end();
  auto reason = code == ec::timeout     ? "missed its deadline"
                : code == ec::cancelled ? "was stopped on request"
                                        : "died";
  auto said = code == ec::infra ? words_.text() : std::string{};
  return {code, fmt::format("{} {}: {}{}{}", what_.script.filename().string(),
                            reason, why, said.empty() ? "" : "; it said: ",
                            said)};
}

void python_process::end() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {}
  }
  if (socket_ >= 0)
    ::close(socket_);
  pid_ = socket_ = -1;
}

bool python_process::has_died() const {
  siginfo_t what{};
  return !alive()
         || (::waitid(P_PID, static_cast<id_t>(pid_), &what,
                      WEXITED | WNOHANG | WNOWAIT)
               == 0
             && what.si_pid == pid_);
}

std::string python_process::own_end() const {
  if (alive() || (WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL))
    return {};
  return WIFSIGNALED(status_)
           ? fmt::format("signal {}", WTERMSIG(status_))
           : fmt::format("exit status {}", WEXITSTATUS(status_));
}

double python_process::cpu_s() const {
  std::ifstream stat{fmt::format("/proc/{}/stat", pid_)};
  std::string text{std::istreambuf_iterator<char>{stat}, {}};
  // Fields follow the name, which may hold anything but ends with ')'.
  auto end = text.rfind(')');
  if (end == std::string::npos)
    return 0;
  std::istringstream fields{text.substr(end + 1)};
  std::string skip;
  for (int i = 3; i < 14; ++i)
    fields >> skip;
  double total = 0, ticks = 0;
  for (int i = 14; i <= 17 && fields >> ticks; ++i)
    total += ticks;
  return total / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

} // namespace swage
