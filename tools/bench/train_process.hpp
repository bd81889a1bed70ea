#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace swage::bench {

/// How a `swage train` is started.
struct train_command {
  std::filesystem::path program;
  std::vector<std::string> arguments;   ///< After the word "train".
  std::filesystem::path output;         ///< Its stdout is appended here.
  std::filesystem::path errors;         ///< Its stderr too; empty: ours.
  std::vector<std::string> environment; ///< "NAME=value", beside ours.
  int parent_death = 0; ///< The signal that it gets if this process dies.
};

/// What is between the white space of a text.
std::vector<std::string> words(const std::string& text);

/// The real program as a child of this process: a parent that keeps a node
/// running as its own child. Killed and reaped when the object goes.
class train_process {
public:
  /// Exits with 3 where no process can be made.
  explicit train_process(const train_command& what);
  ~train_process();
  train_process(const train_process&) = delete;

  pid_t pid() const { return pid_; }

  /// The node that it runs at this moment, if any.
  std::optional<pid_t> node() const;

  /// Exit code once it has ended (128 + signal if by one), else nothing.
  std::optional<int> poll();

  /// SIGKILL to it alone.
  void kill();

private:
  pid_t pid_ = -1;
  std::optional<int> code_;
};

} // namespace swage::bench
