#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace swage::test {

/// A running program; killed when it goes out of scope.
class process {
public:
  /// Starts `program` with stdout and stderr appended to `output`.
  process(const std::filesystem::path& program,
          std::vector<std::string> arguments,
          const std::filesystem::path& output);
  ~process();
  process(process&&) noexcept;
  process& operator=(process&&) = delete;

  /// Exit code once it has ended (128 + signal if by one), else nothing.
  std::optional<int> poll();

  /// Exit code, or nothing if it still runs after `limit_s`.
  std::optional<int> wait(double limit_s);

  void signal(int number) const;

  pid_t pid() const { return pid_; }

  /// Sends `number` to the only child of this process; false without one.
  bool signal_child(int number) const;

  /// The only child's process id, if there is one.
  std::optional<pid_t> child() const;

private:
  pid_t pid_ = -1;
  std::optional<int> code_;
};

/// A TCP port of the loopback that nobody listens on at this moment.
uint16_t free_port();

} // namespace swage::test
