#include "runtime/verify/verdict_cache.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include <unistd.h>

namespace {

using namespace swage;
namespace fs = std::filesystem;

struct scratch {
  fs::path path = fs::temp_directory_path()
                  / ("swage-verdicts-" + std::to_string(::getpid()));

  scratch() { fs::remove_all(path); }

  ~scratch() { fs::remove_all(path); }
};

verdict judged(category kind) {
  verdict out;
  out.compiled = out.correct = out.legal = true;
  out.kind = kind;
  out.speedup = 1.25;
  out.detail = "a \"detail\" with \n lines";
  out.pass_fraction = 3.0 / 7;
  out.times.candidate_s = 12e-6;
  out.times.speedup_low = std::numeric_limits<double>::quiet_NaN();
  return out;
}

} // namespace

TEST_CASE("a stored verdict comes back marked as cached", "[verify][cache]") {
  scratch folder;
  {
    auto cache = verdict_cache::open(folder.path);
    REQUIRE(cache);
    CHECK_FALSE((*cache)->find("a"));
    (*cache)->store("a", judged(category::correctness_tolerance));
    CHECK((*cache)->find("a"));
  }
  auto cache = verdict_cache::open(folder.path);
  REQUIRE(cache);
  auto found = (*cache)->find("a");
  REQUIRE(found);
  auto want = judged(category::correctness_tolerance);
  CHECK(found->cached);
  CHECK(found->kind == want.kind);
  CHECK(found->detail == want.detail);
  CHECK(found->speedup == want.speedup);
  CHECK(found->pass_fraction == want.pass_fraction);
  CHECK(found->times.candidate_s == want.times.candidate_s);
  CHECK(std::isnan(found->times.speedup_low));
}

TEST_CASE("verdicts about our own machinery are not kept", "[verify][cache]") {
  auto cache = verdict_cache::open({});
  REQUIRE(cache);
  for (auto kind : {category::infra_worker, category::infra_timeout,
                    category::infra_unsupported, category::task_invalid}) {
    (*cache)->store("a", judged(kind));
    CHECK_FALSE((*cache)->find("a"));
  }
}

TEST_CASE("whether time was enough is asked again", "[verify][cache]") {
  auto cache = verdict_cache::open({});
  REQUIRE(cache);
  for (auto kind : {category::compile_timeout, category::runtime_timeout}) {
    (*cache)->store("a", judged(kind));
    CHECK_FALSE((*cache)->find("a"));
  }
}

TEST_CASE("two engines share what one has stored", "[verify][cache]") {
  scratch folder;
  auto first = verdict_cache::open(folder.path);
  auto second = verdict_cache::open(folder.path);
  REQUIRE(first);
  REQUIRE(second);
  (*first)->store("k", judged(category::ok));
  CHECK((*second)->find("k"));
}

TEST_CASE("a cache that cannot be opened names its file", "[verify][cache]") {
  auto cache = verdict_cache::open("/proc/nowhere");
  REQUIRE_FALSE(cache);
  CHECK(cache.error().message.find("verdicts.db") != std::string::npos);
}

TEST_CASE("each thing that a verdict depends on changes its key",
          "[verify][cache]") {
  task base;
  base.reference = "reference";
  verdict_setting setting{"tools", "prompt", "machine", "scripts", "torch"};
  std::set<std::string> keys{verdict_key(base, "code", setting)};
  CHECK(keys.count(verdict_key(base, "code", setting)) == 1);
  CHECK(keys.insert(verdict_key(base, "code2", setting)).second);
  using change = std::function<void(task&)>;
  for (const auto& apply : std::initializer_list<change>{
         [](task& x) { x.reference += " "; },
         [](task& x) { x.on = target::cuda; },
         [](task& x) { x.as = form::module; },
         [](task& x) { x.eval.trials = 3; },
         [](task& x) { x.eval.stress = 0; },
         [](task& x) { x.eval.rtol = 1e-3; },
         [](task& x) { x.eval.atol = 1e-3; },
         [](task& x) { x.eval.excessive_speedup = 50; },
         [](task& x) { x.eval.threads = 2; },
         [](task& x) { x.eval.build_timeout_s = 1; },
         [](task& x) { x.eval.run_timeout_s = 1; },
         [](task& x) { x.eval.measure = false; },
         [](task& x) { x.eval.timing_pairs = 99; }}) {
    auto other = base;
    apply(other);
    CHECK(keys.insert(verdict_key(other, "code", setting)).second);
  }
  for (auto member : {&verdict_setting::toolchain, &verdict_setting::prompt,
                      &verdict_setting::machine, &verdict_setting::scripts,
                      &verdict_setting::torch}) {
    auto other = setting;
    (other.*member) += "x";
    CHECK(keys.insert(verdict_key(base, "code", other)).second);
  }
  // Neighbours do not run into each other.
  task shifted = base;
  shifted.reference = "referencec";
  CHECK(keys.insert(verdict_key(shifted, "ode", setting)).second);
}

TEST_CASE("each script of the judge counts for its hash", "[verify][cache]") {
  scratch folder;
  fs::create_directories(folder.path);
  auto write = [&](const char* name, const char* text) {
    std::ofstream{folder.path / name} << text;
    return scripts_hash(folder.path);
  };
  std::set<std::string> hashes{write("judge.py", "a")};
  CHECK(hashes.insert(write("judge.py", "b")).second);
  CHECK(hashes.insert(write("timing_template.py", "")).second);
  CHECK_FALSE(hashes.insert(write("prelude.hpp", "c")).second);
}
