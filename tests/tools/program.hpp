#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace swage::test {

/// What a program printed and how it ended; `code` is -1 after a signal.
struct outcome {
  int code = -1;
  std::string out, err;
};

/// Runs the `swage` that was built; skips the test if there is none.
outcome swage(const std::vector<std::string>& arguments);

/// An empty folder that goes with the object.
class scratch {
public:
  scratch();
  ~scratch();
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  /// Path of a name in it.
  std::string path(const std::string& name) const;

  /// Writes a file in it and returns its path.
  std::string file(const std::string& name, const std::string& text) const;

private:
  std::filesystem::path folder_;
};

/// Content of a file; empty if there is none.
std::string content(const std::filesystem::path& file);

} // namespace swage::test
