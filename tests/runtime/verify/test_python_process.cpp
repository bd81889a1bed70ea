#include "runtime/verify/python_process.hpp"
#include "tests/runtime/verify/engine_fixture.hpp"
#include "tests/system/process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace swage;

namespace {

namespace fs = std::filesystem;

/// A folder that is gone afterwards.
struct folder {
  folder() : path(fs::temp_directory_path()
                  / fmt::format("swage-python-{}", ::getpid())) {
    fs::create_directories(path);
  }
  ~folder() { fs::remove_all(path); }
  fs::path path;
};

python_program script(const folder& in, const std::string& text) {
  auto file = in.path / "script.py";
  std::ofstream{file} << text;
  return {.python = test::from_environment("SWAGE_PYTHON"), .script = file};
}

constexpr auto greeting = R"(
import os, socket, struct, sys
channel = socket.socket(fileno=int(sys.argv[1]))
def send(body):
    channel.sendall(struct.pack("<I", len(body)) + body)
send(b'{"ok": true}')
channel.recv(4096)
)";

std::string content(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The judge with our end of its socket.
struct started_judge {
  explicit started_judge(const fs::path& output) {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    REQUIRE(::fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0);
    auto here = fs::current_path() / "runtime/verify/judge.py";
    judge.emplace(test::from_environment("SWAGE_PYTHON"),
                  std::vector{here.string(), std::to_string(ends[1])}, output);
    ::close(ends[1]);
  }

  void send(const std::string& body) {
    auto size = static_cast<uint32_t>(body.size());
    REQUIRE(::send(ends[0], &size, sizeof size, 0) == sizeof size);
    REQUIRE(::send(ends[0], body.data(), size, 0)
            == static_cast<ssize_t>(size));
  }

  void leave() { ::close(ends[0]); }

  std::array<int, 2> ends;
  std::optional<test::process> judge;
};

} // namespace

TEST_CASE("a dead child's last words go into the error",
          "[verify][python_process]") {
  folder in;
  auto program = script(in, std::string{greeting}
                              + "print('on its way', flush=True)\n"
                                "raise OSError('no room left')\n");
  auto child = python_process::start(program);
  REQUIRE(child);
  auto reply = (*child)->ask({{"op", "load"}}, {}, 60);
  REQUIRE_FALSE(reply);
  INFO(reply.error().message);
  CHECK(reply.error().code == ec::infra);
  CHECK(reply.error().message.starts_with("script.py died: "));
  CHECK(reply.error().message.ends_with("OSError: no room left"));
}

TEST_CASE("a child that talks much is cut short", "[verify][python_process]") {
  folder in;
  auto program = script(in, std::string{greeting}
                              + "print('x' * 3000000, flush=True)\n"
                                "send(b'{\"ok\": true}')\n"
                                "channel.recv(4096)\n"
                                "print('end', flush=True)\n");
  auto child = python_process::start(program);
  REQUIRE(child);
  REQUIRE((*child)->ask({{"op", "one"}}, {}, 60));
  auto reply = (*child)->ask({{"op", "two"}}, {}, 60);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().message.ends_with("; it said: end"));
}

TEST_CASE("a judge without an engine ends and says nothing",
          "[verify][python_process]") {
  folder in;
  started_judge one{in.path / "said"};
  // Gone before the judge is up, which then has nobody to greet.
  one.leave();
  CHECK(one.judge->wait(100) == 0);
  CHECK(content(in.path / "said").empty());
}

TEST_CASE("a busy judge ends with its engine too",
          "[verify][python_process]") {
  folder in;
  started_judge one{in.path / "said"};
  // A task whose module never comes to an end.
  one.send(R"({"op": "load", "key": "k", "source": "while True: pass",
               "name": "x", "seed": "1"})");
  one.leave();
  CHECK(one.judge->wait(100) == 0);
  CHECK(content(in.path / "said").empty());
}

TEST_CASE("a Python that cannot run the script is told of",
          "[verify][python]") {
  folder here;
  auto refusal = [](const python_program& what) {
    auto process = python_process::start(what);
    auto reply = process ? (*process)->ask({{"op", "x"}}, {}, 20)
                         : tl::unexpected{process.error()};
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code == ec::unsupported);
    CHECK(reply.error().message.find("SWAGE_PYTHON") != std::string::npos);
    return reply.error().message;
  };
  auto what = script(here, "import no_such_module\n");
  CHECK(refusal(what).find(
          "script.py: ModuleNotFoundError: No module named 'no_such_module';")
        != std::string::npos);
  what.python = "/bin/true";
  CHECK(refusal(what).starts_with("/bin/true cannot run script.py: it ended"));
  what.python = here.path;
  CHECK(refusal(what).starts_with(here.path.string() + " cannot run"));
}
