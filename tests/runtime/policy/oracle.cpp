#include "tests/runtime/policy/oracle.hpp"

#include <catch2/catch_test_macros.hpp>

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

namespace swage::test {

namespace fs = std::filesystem;

temporary_folder::temporary_folder() {
  auto pattern = (fs::temp_directory_path() / "swage-test-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void run_oracle(const std::vector<std::string>& arguments) {
  auto* python = std::getenv("SWAGE_PYTHON");
  if (!python)
    SKIP("SWAGE_PYTHON is not set; ctest sets it");
  // Tests run in the project's root.
  fs::path script = "tests/runtime/policy/oracle.py";
  INFO("looked for " << fs::absolute(script).string());
  REQUIRE(fs::exists(script));
  // The sanitizers' runtime is not for the child.
  auto command = std::string{"unset LD_PRELOAD; '"} + python + "' '"
                 + script.string() + "'";
  for (auto& argument : arguments)
    command += " '" + argument + "'";
  int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    SKIP("a Python package that the oracle needs is missing");
  REQUIRE(WEXITSTATUS(status) == 0);
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out{path, std::ios::binary};
  out << text;
  REQUIRE(out.flush().good());
}

} // namespace swage::test
