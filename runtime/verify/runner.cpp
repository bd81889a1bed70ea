#include "runtime/verify/runner.hpp"

#include "runtime/verify/process_end.hpp"
#include "runtime/verify/process_state.hpp"
#include "runtime/verify/worker_process.hpp"

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

namespace swage {

namespace {

using steady = std::chrono::steady_clock;

constexpr double prepare_timeout_s = 10;
constexpr double reap_timeout_s = 5;

double since(steady::time_point start) {
  return std::chrono::duration<double>(steady::now() - start).count();
}

result<descriptor> memfd_of(const std::string& bytes) {
  descriptor fd{::memfd_create("swage-artifact", MFD_CLOEXEC)};
  size_t written = 0;
  while (fd && written < bytes.size()) {
    auto n = ::write(fd.value(), bytes.data() + written,
                     bytes.size() - written);
    if (n <= 0)
      break;
    written += static_cast<size_t>(n);
  }
  if (!fd || written != bytes.size())
    return fail(ec::io, fmt::format("cannot hold an artifact of {} bytes: {}",
                                    bytes.size(), std::strerror(errno)));
  return fd;
}

} // namespace

struct sandbox::impl {
  control_channel channel;
  signature args;
  child process;
  double cpu_limit_s = 0;
  bool loaded = false;
  bool load_posted = false;
  double cpu_at_done = 0;
  std::optional<outcome> final = std::nullopt;

  outcome finish(outcome last) {
    process.kill();
    auto status = process.await_end(reap_timeout_s);
    if (!status && last.ok())
      last = {category::infra_worker, "the worker does not report the end"};
    final = last;
    return last;
  }

  outcome wait_for_newest(double timeout_s, const char* what) {
    auto start = steady::now();
    auto news = channel.wait(timeout_s, process.pidfd());
    auto wall = since(start);
    auto with_time = [wall](outcome o) {
      o.wall_s = wall;
      return o;
    };
    switch (news) {
    case control_channel::news::done:
      return {category::ok, {}, wall};
    case control_channel::news::timeout:
      return finish(with_time(
        {category::runtime_timeout,
         fmt::format("{} took longer than {:.3g} s", what, timeout_s)}));
    case control_channel::news::fault: {
      auto why = channel.explain(args);
      return finish(with_time({why.kind, why.detail}));
    }
    case control_channel::news::died:
      break;
    }
    auto status = process.await_end(reap_timeout_s);
    if (!status)
      return finish(with_time({category::infra_worker, "the worker died"}));
    auto cpu_s = process.total_cpu_s().value_or(0.0);
    auto why = verdict_on({*status, cpu_s, cpu_limit_s});
    return finish(with_time({why.kind, why.detail}));
  }

  outcome load(double timeout_s) {
    if (final || loaded)
      return final.value_or(outcome{});
    if (!load_posted)
      channel.post(control::request_kind::load);
    load_posted = true;
    auto came = wait_for_newest(timeout_s, "loading");
    loaded = came.ok();
    return came;
  }
};

sandbox::sandbox(std::unique_ptr<impl> self) : impl_(std::move(self)) {}

sandbox::sandbox(sandbox&&) noexcept = default;
sandbox& sandbox::operator=(sandbox&&) noexcept = default;

sandbox::~sandbox() {
  if (impl_ && !impl_->final)
    impl_->finish({});
}

outcome sandbox::load(double timeout_s) {
  return impl_->load(timeout_s);
}

outcome sandbox::call(uint32_t which, double timeout_s) {
  auto start = steady::now();
  if (auto came = impl_->load(timeout_s); !came.ok())
    return came;
  auto left = std::max(0.0, timeout_s - since(start));
  impl_->channel.post(control::request_kind::call, which);
  auto came = impl_->wait_for_newest(left, "the call");
  if (came.ok())
    impl_->cpu_at_done = cpu_s();
  return came;
}

rest sandbox::settle(double timeout_s) {
  rest seen;
  if (impl_->final)
    seen.came = *impl_->final;
  if (impl_->final || !impl_->loaded)
    return seen;
  auto start = steady::now();
  impl_->channel.post(control::request_kind::settle);
  seen.came = impl_->wait_for_newest(timeout_s, "an answer after the call");
  seen.returned = seen.came.ok();
  if (!seen.returned)
    return seen;
  constexpr auto look = std::chrono::microseconds(200);
  while (!(seen.quiet = is_asleep(pid())) && since(start) < timeout_s)
    std::this_thread::sleep_for(look);
  seen.cpu_s = cpu_s() - impl_->cpu_at_done;
  return seen;
}

pid_t sandbox::pid() const {
  return impl_->process.pid();
}

double sandbox::cpu_s() const {
  auto ended = impl_->process.total_cpu_s();
  return ended ? *ended : process_cpu_s(pid());
}

struct runner::impl {
  runner_options options;
  std::unique_ptr<worker_process> worker;
  uint64_t restarts = 0;

  result<child> start_child(std::span<const int> fds) {
    if (worker)
      if (auto started = worker->launch(fds))
        return started;
    auto fresh = worker_process::start(options.worker);
    if (!fresh)
      return tl::unexpected(fresh.error());
    if (worker)
      ++restarts;
    worker = std::move(*fresh);
    return worker->launch(fds);
  }
};

runner::runner(std::unique_ptr<impl> self) : impl_(std::move(self)) {}

runner::~runner() = default;

result<std::unique_ptr<runner>> runner::start(runner_options options) {
  auto worker = worker_process::start(options.worker);
  if (!worker)
    return tl::unexpected(worker.error());
  auto self = std::make_unique<impl>();
  self->options = std::move(options);
  self->worker = std::move(*worker);
  return std::unique_ptr<runner>{new runner{std::move(self)}};
}

result<sandbox> runner::launch(const artifact& what, const signature& args,
                               const shared_memory& memory,
                               const sandbox_limits& limits) {
  auto code = memfd_of(what.bytes);
  if (!code)
    return tl::unexpected(code.error());
  auto channel = control_channel::create(args, memory, limits);
  if (!channel)
    return tl::unexpected(channel.error());
  const int fds[] = {code->value(), memory.read_only_fd(), memory.fd(),
                     channel->fd()};
  auto process = impl_->start_child(fds);
  if (!process)
    return tl::unexpected(process.error());
  auto self = std::make_unique<sandbox::impl>(
    sandbox::impl{std::move(*channel), args, std::move(*process),
                  static_cast<double>(limits.cpu_s)});
  auto came = self->wait_for_newest(prepare_timeout_s, "preparing");
  if (!came.ok())
    return fail(ec::infra,
                fmt::format("cannot prepare a sandbox: {}", came.detail));
  return sandbox{std::move(self)};
}

const std::string& runner::confinement() const {
  return impl_->worker->confinement();
}

pid_t runner::worker_pid() const {
  return impl_->worker->pid();
}

uint64_t runner::restarts() const {
  return impl_->restarts;
}

} // namespace swage
