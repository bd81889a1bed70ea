#include "runtime/config/paths.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>

using namespace swage;

namespace {

/// Sets an environment variable until the end of the test.
class environment_guard {
public:
  environment_guard(const char* name, const char* value) : name_{name} {
    auto* before = std::getenv(name);
    had_ = before != nullptr;
    before_ = before ? before : "";
    ::setenv(name, value, 1);
  }

  ~environment_guard() {
    if (had_)
      ::setenv(name_, before_.c_str(), 1);
    else
      ::unsetenv(name_);
  }

private:
  const char* name_;
  bool had_;
  std::string before_;
};

} // namespace

TEST_CASE("the source folder holds the data", "[runtime][config]") {
  CHECK(std::filesystem::exists(data_folder() / "runtime/config/paths.cpp"));
  environment_guard home{"SWAGE_HOME", "/somewhere"};
  CHECK(data_folder() == "/somewhere");
}

TEST_CASE("a missing worker says where it was expected", "[runtime][config]") {
  environment_guard bin{"SWAGE_BIN", "/proc/none"};
  auto program = worker_program();
  REQUIRE_FALSE(program.has_value());
  CHECK(program.error().message.find("/proc/none/swage-worker")
        != std::string::npos);
}

TEST_CASE("a missing Python says what to set", "[runtime][config]") {
  environment_guard python{"SWAGE_PYTHON", "/proc/none/python"};
  auto program = python_program();
  REQUIRE_FALSE(program.has_value());
  CHECK(program.error().message.find("SWAGE_PYTHON") != std::string::npos);
}

TEST_CASE("the cache follows the usual variables", "[runtime][config]") {
  CHECK(cache_folder("/mine") == "/mine");
  environment_guard cache{"XDG_CACHE_HOME", "/c"};
  CHECK(cache_folder("") == "/c/swage/verify");
  environment_guard none{"XDG_CACHE_HOME", ""};
  environment_guard home{"HOME", "/h"};
  CHECK(cache_folder("") == "/h/.cache/swage/verify");
}

TEST_CASE("resolved paths are absolute or refused", "[runtime][config]") {
  config settings;
  settings.policy.path = "configs/quickstart";
  settings.tasks.suite = "tests";
  REQUIRE(resolve_paths(settings).has_value());
  CHECK(std::filesystem::path{settings.policy.path}.is_absolute());
  CHECK(std::filesystem::path{settings.tasks.suite}.is_absolute());
  for (auto* path : {"no/such/policy", "configs"}) {
    settings.policy.path = path;
    auto refused = resolve_paths(settings);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ec::not_found);
    CHECK(refused.error().message.find("policy.path") != std::string::npos);
  }
}

TEST_CASE("a missing file is named once for each place", "[runtime][config]") {
  auto path = (data_folder() / "no/such").string();
  CHECK(find_data(path, "it").error().message
        == "expected it at " + path + ", found nothing there");
  environment_guard home{"SWAGE_HOME",
                         std::filesystem::current_path().c_str()};
  auto here = (std::filesystem::current_path() / "no/such").string();
  CHECK(find_data("no/such", "it").error().message
        == "expected it at " + here + ", found nothing there");
  environment_guard elsewhere{"SWAGE_HOME", "/somewhere"};
  CHECK(find_data("no/such", "it").error().message
        == "expected it at " + here
             + ", found nothing there and nothing at /somewhere/no/such");
}
