#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace swage {

/// Says on stderr what this process is at while nothing else shows it: on a
/// terminal at once, in a line that goes again, elsewhere once it has lasted a
/// second. Ends with the object, before other progress is shown.
class activity {
public:
  explicit activity(std::string what,
                    std::chrono::milliseconds patience = std::chrono::seconds{1});
  ~activity();
  activity(const activity&) = delete;
  activity& operator=(const activity&) = delete;

  /// What it is at from now on.
  void now(std::string what);

private:
  void watch(); ///< The thread: says what lasts.

  const bool terminal_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  uint64_t count_ = 0; ///< Of what it was at so far.
  bool over_ = false;
  std::thread thread_;
};

} // namespace swage
