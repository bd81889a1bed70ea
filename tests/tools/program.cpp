#include "tests/tools/program.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swage::test {

namespace fs = std::filesystem;

namespace {

void redirect(const std::string& file, int to) {
  ::dup2(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), to);
}

[[noreturn]] void become(const std::string& program,
                         const std::vector<std::string>& arguments,
                         const scratch& folder) {
  redirect(folder.path("out"), STDOUT_FILENO);
  redirect(folder.path("err"), STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>("swage")};
  for (auto& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  ::_exit(127);
}

} // namespace

outcome swage(const std::vector<std::string>& arguments) {
  auto* bin = std::getenv("SWAGE_BIN");
  auto program = std::string{bin ? bin : "build/release/bin"} + "/swage";
  if (::access(program.c_str(), X_OK) != 0)
    SKIP("the program swage is not built in this preset");
  scratch folder;
  auto child = ::fork();
  if (child == 0)
    become(program, arguments, folder);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          content(folder.path("out")), content(folder.path("err"))};
}

scratch::scratch() {
  static int count = 0;
  folder_ = fs::temp_directory_path()
            / ("swage-cli-" + std::to_string(::getpid()) + "-"
               + std::to_string(count++));
  fs::create_directories(folder_);
}

scratch::~scratch() {
  fs::remove_all(folder_);
}

std::string scratch::path(const std::string& name) const {
  return (folder_ / name).string();
}

std::string scratch::file(const std::string& name,
                          const std::string& text) const {
  std::ofstream{folder_ / name} << text;
  return path(name);
}

std::string content(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace swage::test
