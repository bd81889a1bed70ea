#include "tools/swage/activity.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <string>

#include <unistd.h>

using namespace swage;

namespace {

/// Stderr, as a file, as long as the object lives.
class caught_stderr {
public:
  caught_stderr() {
    ::dup2(::fileno(file_), STDERR_FILENO);
  }

  ~caught_stderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    std::fclose(file_);
  }

  caught_stderr(const caught_stderr&) = delete;
  caught_stderr& operator=(const caught_stderr&) = delete;

  std::string text() const {
    std::string all(4096, '\0');
    auto size = ::pread(::fileno(file_), all.data(), all.size(), 0);
    return all.substr(0, size < 0 ? 0 : static_cast<size_t>(size));
  }

  void wait_for(const std::string& end) const {
    while (!text().ends_with(end))
      std::this_thread::yield();
  }

private:
  int before_ = ::dup(STDERR_FILENO);
  std::FILE* file_ = std::tmpfile();
};

} // namespace

TEST_CASE("what lasts is said once and what does not is not",
          "[tools][activity]") {
  caught_stderr seen;
  {
    activity doing{"starting", std::chrono::milliseconds{0}};
    seen.wait_for("swage: starting ...\n");
    doing.now("compiling");
    seen.wait_for("swage: compiling ...\n");
  }
  CHECK(seen.text() == "swage: starting ...\nswage: compiling ...\n");
  {
    activity doing{"nothing long", std::chrono::hours{1}};
    doing.now("nor this");
  }
  CHECK(seen.text() == "swage: starting ...\nswage: compiling ...\n");
}
