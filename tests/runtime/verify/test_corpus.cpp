#include "tests/runtime/verify/engine_fixture.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

namespace {

using namespace swage;
namespace fs = std::filesystem;

struct row {
  std::string file;
  std::string category;
  bool measured = false;
};

std::vector<row> expectations(const fs::path& folder) {
  std::istringstream lines{test::read_file(folder / "expected.tsv")};
  std::vector<row> out;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#'))
      continue;
    std::istringstream fields{line};
    row one;
    std::string mark;
    fields >> one.file >> one.category >> mark;
    one.measured = mark == "measured";
    out.push_back(std::move(one));
  }
  return out;
}

} // namespace

TEST_CASE("each candidate of the corpus gets its category",
          "[verify][engine][slow]") {
  auto folder = fs::current_path() / "tests/corpus/candidates";
  auto rows = expectations(folder);
  REQUIRE(rows.size() > 40);
  std::set<std::string> listed;
  for (const auto& row : rows)
    listed.insert(row.file);
  for (const auto& entry : fs::directory_iterator{folder}) {
    auto name = entry.path().filename().string();
    if (name != "task.py" && name != "expected.tsv") {
      INFO("not in expected.tsv: " << name);
      CHECK(listed.count(name) == 1);
    }
  }

  test::scratch_folder cache;
  auto engine = test::start(test::options_in(cache.path));
  auto task = test::task_from(folder / "task.py");
  for (const auto& row : rows) {
    // Filling all memory takes a busy machine seconds.
    auto loops = row.category == to_string(category::runtime_timeout);
    task.eval.run_timeout_s = loops ? 3 : 60;
    task.eval.measure = row.measured;
    task.eval.threads = row.file == "honest_threads.cpp" ? 2 : 1;
    candidate who{row.file, test::read_file(folder / row.file)};
    REQUIRE_FALSE(who.response.empty());
    auto outcome = engine->verify(task, who, {});
    INFO(row.file << ": " << outcome.detail);
    CHECK(to_string(outcome.kind) == row.category);
    CHECK(outcome.ok() == (score(outcome, {}) >= 1));
    // Whatever it did, the next one is judged as if it had never run.
    CHECK_FALSE(is_uncharged(outcome.kind));
  }
  CHECK_FALSE(fs::exists("/tmp/swage-was-here"));
  task.eval.measure = false;
  candidate last{"last", "// again\n"
                           + test::read_file(folder / "honest_direct.cpp")};
  CHECK(engine->verify(task, last, {}).ok());
}
