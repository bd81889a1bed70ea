#include "tests/support/authorities.hpp"
#include "tests/system/process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <unistd.h>

using namespace swage;
using test::process;

namespace {

// One evaluation of an untaught policy: weights, grants and samples travel.
constexpr auto settings_text = R"(
[run]
name = "tls-test"
stages = ["eval"]
[policy]
path = "configs/quickstart"
[tasks]
train = 4
validation = 0
held_out = 1
[rollout]
eval_samples = 1
max_new_tokens = 16
[verifier]
trials = 2
stress = 0
measure = false
[faults]
stall_timeout_s = 300
[cluster]
head = "head"
{}
[[cluster.node]]
name = "head"
address = "127.0.0.1:{}"
actors = {{ rollout = 0, verifier = 1, learner = 1 }}
[[cluster.node]]
name = "writer"
address = "127.0.0.1:{}"
actors = {{ rollout = 1, verifier = 0, learner = 0 }}
)";

/// A head and a writer, each with certificates of its own choice.
class two_nodes {
public:
  two_nodes() {
    root_ = std::filesystem::temp_directory_path()
            / fmt::format("swage-tls-{}", ::getpid());
    std::filesystem::create_directories(root_);
  }

  ~two_nodes() {
    nodes_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  void start(const std::string& node, const tls_files& files) {
    auto tls = files.used()
                 ? fmt::format("tls_certificate = \"{}\"\ntls_key = \"{}\"\n"
                               "tls_ca = \"{}\"",
                               files.certificate, files.key, files.ca)
                 : std::string{};
    auto file = root_ / (node + ".toml");
    std::ofstream{file} << fmt::format(fmt::runtime(settings_text), tls,
                                       head_port_, writer_port_);
    auto* bin = std::getenv("SWAGE_BIN");
    REQUIRE(bin);
    nodes_.emplace(node,
                   process{std::filesystem::path{bin} / "swage",
                           {"train", file.string(), "--node", node, "--out",
                            (root_ / node).string()},
                           root_ / (node + ".out")});
  }

  process& node(const std::string& name) { return nodes_.at(name); }

  std::string output(const std::string& node) const {
    std::ifstream in{root_ / (node + ".out")};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

private:
  uint16_t head_port_ = test::free_port(), writer_port_ = test::free_port();
  std::filesystem::path root_;
  std::map<std::string, process> nodes_;
};

/// The writer cannot join and says why; the head goes on without it.
void check_refused(two_nodes& run, const std::string& reason) {
  auto code = run.node("writer").wait(200);
  INFO("head:\n" << run.output("head") << "writer:\n" << run.output("writer"));
  REQUIRE(code);
  CHECK(*code == 2);
  CHECK(run.output("writer").find("cannot join the head at 127.0.0.1:")
        != std::string::npos);
  CHECK(run.output("writer").find(reason) != std::string::npos);
  CHECK_FALSE(run.node("head").poll());
  run.node("head").signal(SIGTERM);
  CHECK(run.node("head").wait(100) == 0);
}

} // namespace

TEST_CASE("a run over TLS comes to its end", "[system][slow][tls]") {
  test::authorities both;
  two_nodes run;
  for (auto* name : {"head", "writer"})
    run.start(name, both.of("ours", "ours"));
  for (auto* name : {"head", "writer"}) {
    auto code = run.node(name).wait(300);
    INFO("head:\n" << run.output("head") << "writer:\n"
                   << run.output("writer"));
    REQUIRE(code);
    CHECK(*code == 0);
  }
}

TEST_CASE("a node of another authority is refused", "[system][slow][tls]") {
  test::authorities both;
  two_nodes run;
  run.start("head", both.of("ours", "ours"));
  run.start("writer", both.of("theirs", "theirs"));
  check_refused(run, "not accepted under cluster.tls_ca");
}

TEST_CASE("a node without TLS is refused by a head with it",
          "[system][slow][tls]") {
  test::authorities both;
  two_nodes run;
  run.start("head", both.of("ours", "ours"));
  run.start("writer", {});
  check_refused(run, "it speaks TLS only");
}
