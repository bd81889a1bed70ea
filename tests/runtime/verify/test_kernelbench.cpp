#include "runtime/task/prototype.hpp"
#include "tests/runtime/verify/engine_fixture.hpp"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace swage;

/// The prototype with an empty body.
std::string empty_kernel(const signature& args) {
  auto text = prototype(args);
  text.replace(text.rfind(';'), 1, " {}\n");
  return text;
}

} // namespace

TEST_CASE("an empty kernel is wrong for every public problem",
          "[verify][engine][slow]") {
  auto path = std::filesystem::current_path()
              / "../shared/data/kernelbench-cpu.jsonl";
  if (!std::filesystem::exists(path))
    SKIP(path << " is not there");
  test::scratch_folder cache;
  auto engine = test::start(test::options_in(cache.path));
  std::istringstream lines{test::read_file(path)};
  size_t judged = 0;
  std::vector<std::string> random;
  for (std::string line; std::getline(lines, line);) {
    auto row = nlohmann::json::parse(line);
    task what;
    what.id = row.at("id");
    what.reference = row.at("reference");
    auto loaded = engine->load(what);
    if (!loaded) {
      INFO(what.id << ": " << loaded.error().message);
      CHECK(loaded.error().code == ec::task_invalid);
      CHECK(loaded.error().message.find("random") != std::string::npos);
      random.push_back(what.id);
      continue;
    }
    REQUIRE_FALSE(loaded->args.inputs.empty());
    REQUIRE_FALSE(loaded->args.outputs.empty());
    auto outcome = engine->verify(
      *loaded, {what.id, empty_kernel(loaded->args)}, {});
    INFO(what.id << ": " << outcome.detail);
    CHECK(to_string(outcome.kind)
          == std::string("correctness_error:tolerance"));
    CHECK(outcome.detail.find("written") != std::string::npos);
    ++judged;
  }
  CHECK(judged + random.size() == 125);
  // It draws its initial state in `forward`.
  CHECK(random == std::vector<std::string>{"kernelbench/level3/35"});
}
