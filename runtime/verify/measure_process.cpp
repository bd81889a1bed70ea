#include "runtime/verify/measure_process.hpp"

#include "runtime/verify/process_end.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

namespace swage {

namespace {

using nlohmann::json;
using steady = std::chrono::steady_clock;

constexpr double template_timeout_s = 30;
constexpr std::chrono::milliseconds template_death{50};

/// What a reference does, named by the case of the request.
constexpr uint32_t prepare_inputs = 0, call_module = 1, do_nothing = 2,
                   store_result = timed_process::reference_cases - 1;

/// Owns a descriptor.
struct unique_fd {
  int fd = -1;

  explicit unique_fd(int value) : fd{value} {
  }

  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;

  ~unique_fd() {
    if (fd >= 0)
      ::close(fd);
  }
};

/// A memory file with the given content, or a descriptor of -1.
int file_of(std::string_view content, const char* name) {
  int fd = ::memfd_create(name, MFD_CLOEXEC);
  while (fd >= 0 && !content.empty()) {
    auto written = ::write(fd, content.data(), content.size());
    if (written <= 0) {
      ::close(fd);
      return -1;
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return fd;
}

result<int64_t> ask_for_fork(python_process& from, const char* op,
                             std::span<const int> fds) {
  auto reply = from.ask({{"op", op}}, fds, template_timeout_s);
  if (!reply)
    return tl::unexpected{reply.error()};
  if (!reply->value("ok", false))
    return fail(ec::infra, fmt::format("the timing template: {}",
                                       reply->value("what", std::string{})));
  return reply->value("pid", int64_t{-1});
}

} // namespace

timed_process::timed_process(python_process& from, control_channel channel,
                             const signature& args)
  : from_{from}, channel_{std::move(channel)}, args_{args} {
}

timed_process::~timed_process() {
  if (pid_ > 0 && from_.alive())
    (void)from_.ask({{"op", "end"}, {"pid", pid_}}, {}, template_timeout_s);
  if (pidfd_ >= 0)
    ::close(pidfd_);
}

result<std::unique_ptr<timed_process>>
timed_process::candidate(python_process& from, const artifact& code,
                         const signature& args, const shared_memory& memory,
                         const sandbox_limits& limits) {
  auto channel = control_channel::create(args, memory, limits);
  if (!channel)
    return tl::unexpected{channel.error()};
  std::unique_ptr<timed_process> self{
    new timed_process{from, std::move(*channel), args}};
  self->cpu_limit_s_ = limits.cpu_s;
  unique_fd file{file_of(code.bytes, "swage-artifact")};
  if (file.fd < 0)
    return fail(ec::io, fmt::format("memfd: {}", std::strerror(errno)));
  std::array fds{file.fd, memory.read_only_fd(), memory.fd(),
                 self->channel_.fd()};
  auto pid = ask_for_fork(from, "candidate", fds);
  if (!pid)
    return tl::unexpected{pid.error()};
  if (auto done = self->adopt(*pid); !done)
    return tl::unexpected{done.error()};
  return self;
}

result<std::unique_ptr<timed_process>>
timed_process::reference(python_process& from, const judged_task& what,
                         const reference_options& how,
                         const shared_memory& memory,
                         const shared_memory& results) {
  auto channel = control_channel::create(what.args, memory, {});
  if (!channel)
    return tl::unexpected{channel.error()};
  std::unique_ptr<timed_process> self{
    new timed_process{from, std::move(*channel), what.args}};
  auto offsets = json::array();
  for (const auto& slot : results.layout().outputs)
    offsets.push_back(slot.offset);
  self->is_reference_ = true;
  json specification{{"source", what.reference},
                     {"seed", std::to_string(what.seed)},
                     {"state", std::to_string(how.state)},
                     {"threads", std::max(how.threads, 1)},
                     {"results", offsets},
                     {"facts",
                      {{"changed_inputs", what.changed_inputs},
                       {"changed_state", what.changed_state},
                       {"free_state", what.free_state}}}};
  unique_fd file{file_of(
    specification.dump(-1, ' ', false, json::error_handler_t::replace),
    "swage-reference")};
  if (file.fd < 0)
    return fail(ec::io, fmt::format("memfd: {}", std::strerror(errno)));
  std::array fds{memory.fd(), self->channel_.fd(), file.fd, results.fd()};
  auto pid = ask_for_fork(from, "reference", fds);
  if (!pid)
    return tl::unexpected{pid.error()};
  if (auto done = self->adopt(*pid); !done)
    return tl::unexpected{done.error()};
  return self;
}

result<void> timed_process::adopt(int64_t pid) {
  if (pid <= 0)
    return fail(ec::infra, "the timing template forked no process");
  pid_ = static_cast<pid_t>(pid);
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pidfd_ < 0)
    return fail(ec::infra, fmt::format("pidfd_open: {}", std::strerror(errno)));
  return {};
}

timing timed_process::confine(double timeout_s) {
  auto ready = wait(timeout_s);
  confined_ = ready.has_value();
  return ready;
}

timing timed_process::load(double timeout_s) {
  return ask(control::request_kind::load, 0, timeout_s);
}

timing timed_process::prepare(double timeout_s) {
  if (!is_reference_)
    return 0.0;
  return ask(control::request_kind::call, prepare_inputs, timeout_s);
}

timing timed_process::call(double timeout_s) {
  return ask(control::request_kind::call, is_reference_ ? call_module : 0,
             timeout_s);
}

timing timed_process::empty(double timeout_s) {
  return is_reference_
           ? ask(control::request_kind::call, do_nothing, timeout_s)
           : settle(timeout_s);
}

timing timed_process::settle(double timeout_s) {
  return ask(control::request_kind::settle, 0, timeout_s);
}

timing timed_process::store(double timeout_s) {
  return ask(control::request_kind::call, store_result, timeout_s);
}

timing timed_process::ask(control::request_kind kind, uint32_t which,
                          double timeout_s) {
  auto start = steady::now();
  channel_.post(kind, which);
  auto done = wait(timeout_s);
  if (!done)
    return done;
  return std::chrono::duration<double>(steady::now() - start).count();
}

timing timed_process::wait(double timeout_s) {
  switch (channel_.wait(timeout_s, pidfd_)) {
  case control_channel::news::done:
    return 0.0;
  case control_channel::news::fault:
    return refuse(channel_.explain(args_));
  case control_channel::news::timeout:
    return refuse({category::runtime_timeout,
                   fmt::format("did not return within {} s", timeout_s)});
  case control_channel::news::died:
    break;
  }
  return end_of_process();
}

tl::unexpected<rejection> timed_process::end_of_process() {
  auto ours = [](std::string detail) {
    return tl::unexpected<rejection>{
      rejection{category::infra_worker, std::move(detail)}};
  };
  // A process dies with the template, and may be seen to do so first.
  for (auto start = steady::now();
       !from_.has_died() && steady::now() - start < template_death;)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  auto reply = from_.ask({{"op", "ended"}, {"pid", pid_}}, {},
                         template_timeout_s);
  if (!reply)
    return ours(reply.error().message);
  if (!reply->value("ok", false))
    return ours(fmt::format("the timing template: {}",
                            reply->value("what", std::string{})));
  pid_ = -1;
  auto why = verdict_on({reply->value("status", 0),
                         reply->value("cpu_s", 0.0), cpu_limit_s_});
  if (!confined_)
    return ours(fmt::format("a timed {}: {}",
                            is_reference_ ? "reference could not start"
                                          : "process could not be confined",
                            why.detail));
  return refuse(std::move(why));
}

/// Of the reference no fault is a candidate's.
tl::unexpected<rejection> timed_process::refuse(rejection why) const {
  if (is_reference_) {
    if (!is_uncharged(why.kind))
      why.kind = why.kind == category::runtime_timeout
                   ? category::infra_timeout
                   : category::infra_measurement;
    why.detail = "the reference: " + why.detail;
  }
  why.detail += ", while it was timed";
  return tl::unexpected<rejection>{std::move(why)};
}

} // namespace swage
