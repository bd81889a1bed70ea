#pragma once

#include <stop_token>
#include <thread>

namespace swage {

/// Requests a stop when the process gets SIGTERM, SIGHUP or SIGINT. The
/// handler only writes into a pipe, and a thread that does nothing else makes
/// the request: callbacks of a stop token may do what a handler must not.
/// One at a time.
class stop_signals {
public:
  stop_signals();
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  std::stop_token token() const { return source_.get_token(); }

private:
  std::stop_source source_;
  std::jthread waiter_;
};

} // namespace swage
