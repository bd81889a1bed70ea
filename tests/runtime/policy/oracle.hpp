#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace swage::test {

/// A folder that is removed with everything in it.
class temporary_folder {
public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// Runs oracle.py, which asks the Hugging Face implementation, with the given
/// arguments. Skips the test, saying why, where Python or a package is
/// missing; fails it where the script does.
void run_oracle(const std::vector<std::string>& arguments);

void write_file(const std::filesystem::path& path, const std::string& text);

} // namespace swage::test
