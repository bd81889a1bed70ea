#include "tools/swage/stop_signals.hpp"

#include <cerrno>
#include <csignal>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace swage {

namespace {

constexpr int signals[] = {SIGTERM, SIGHUP, SIGINT};
struct sigaction before[std::size(signals)];
constexpr char stop_byte = 's', end_byte = 'e';

int pipe_ends[2] = {-1, -1};

void on_signal(int) {
  auto saved = errno;
  [[maybe_unused]] auto written = ::write(pipe_ends[1], &stop_byte, 1);
  errno = saved;
}

void wait_for_byte(std::stop_source source) {
  char byte = 0;
  while (::read(pipe_ends[0], &byte, 1) < 0 && errno == EINTR)
    continue;
  if (byte == stop_byte)
    source.request_stop();
}

} // namespace

stop_signals::stop_signals() {
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe2");
  waiter_ = std::jthread{[source = source_] { wait_for_byte(source); }};
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(signals); ++i) {
    ::sigaction(signals[i], nullptr, &before[i]);
    // What the parent decided to ignore stays ignored.
    if (before[i].sa_handler != SIG_IGN)
      ::sigaction(signals[i], &action, nullptr);
  }
}

stop_signals::~stop_signals() {
  for (size_t i = 0; i < std::size(signals); ++i)
    ::sigaction(signals[i], &before[i], nullptr);
  [[maybe_unused]] auto written = ::write(pipe_ends[1], &end_byte, 1);
  waiter_.join();
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

} // namespace swage
