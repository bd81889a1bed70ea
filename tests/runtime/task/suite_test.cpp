#include "runtime/task/suite.hpp"
#include "runtime/task/text_file.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <sys/stat.h>
#include <unistd.h>

using namespace swage;
namespace fs = std::filesystem;

namespace {

/// A folder that goes away with the test.
class folder {
public:
  folder() {
    auto name = (fs::temp_directory_path() / "swage-suite-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path_ = name;
  }
  ~folder() { fs::remove_all(path_); }

  fs::path write(const std::string& name, const std::string& text) const {
    auto file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream{file} << text;
    return file;
  }
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
};

std::string module(int number) {
  return fmt::format("class Model:\n    def forward(self, x):\n        return "
                     "x.f{}()\n\ndef get_inputs():\n    return []\n",
                     std::string(static_cast<size_t>(number) + 1, 'a'));
}

std::string row(const std::string& id) {
  return fmt::format("{{\"id\": \"{}\", \"level\": 2, \"extra\": [1], "
                     "\"reference\": \"class Model\\ndef get_inputs\"}}\n",
                     id);
}

std::string refusal(const fs::path& path) {
  auto loaded = load_suite(path, {});
  REQUIRE_FALSE(loaded);
  return loaded.error().message;
}

std::vector<task> numbered(int count) {
  std::vector<task> all;
  for (int i = 0; i < count; ++i) {
    all.emplace_back();
    all.back().id = fmt::format("task{:03}", i);
    all.back().canonical = module(i);
  }
  return all;
}

} // namespace

TEST_CASE("a folder's modules are tasks by their path", "[task][suite]") {
  folder here;
  here.write("level2/b.py", module(1));
  here.write("level1/a.py", module(2));
  here.write("notes.txt", "no module");
  auto loaded = load_suite(here.path(), {});
  REQUIRE(loaded);
  REQUIRE(loaded->size() == 2);
  CHECK((*loaded)[0].id == "level1/a");
  CHECK((*loaded)[1].level == 2);
  CHECK((*loaded)[1].reference == module(1));
}

TEST_CASE("lines of JSON are tasks with further fields", "[task][suite]") {
  folder here;
  auto file = here.write("suite.jsonl", row("a") + "\n" + row("b"));
  auto loaded = load_suite(file, {});
  REQUIRE(loaded);
  REQUIRE(loaded->size() == 2);
  CHECK((*loaded)[1].id == "b");
  CHECK((*loaded)[0].level == 2);
}

TEST_CASE("a bad line is named by file and number", "[task][suite]") {
  folder here;
  auto bad = [&](const std::string& text) {
    return refusal(here.write("suite.jsonl", row("a") + text));
  };
  CHECK(bad("not json\n").find("suite.jsonl:2: expected one JSON object")
        != std::string::npos);
  CHECK(bad("[1]\n").find("suite.jsonl:2:") != std::string::npos);
  CHECK(bad("{\"id\": \"b\"}\n").find("'reference' is missing")
        != std::string::npos);
  CHECK(bad("{\"id\": 3, \"reference\": \"\"}\n").find("found number")
        != std::string::npos);
  CHECK(bad("{\"id\": \"b\", \"reference\": \"x\"}\n").find("class Model")
        != std::string::npos);
  CHECK(bad(row("a")).find("'a' occurs twice, first in line 1")
        != std::string::npos);
  CHECK(bad("{\"id\": \"b\", \"level\": \"x\", \"reference\": \"\"}\n")
          .find("'level'")
        != std::string::npos);
}

TEST_CASE("a suite without tasks is refused", "[task][suite]") {
  folder here;
  CHECK(refusal(here.path()).find("holds no task") != std::string::npos);
  CHECK(refusal(here.write("empty.jsonl", "\n\n")).find("holds no task")
        != std::string::npos);
  CHECK(refusal(here.path() / "missing").find("no such folder")
        != std::string::npos);
}

TEST_CASE("a folder's other modules are left out by name", "[task][suite]") {
  folder here;
  here.write("level1/a.py", module(1));
  here.write("__init__.py", "");
  here.write("tools/models.py", "class ModelBase:\n    pass\n# \xe9\n");
  std::vector<std::string> told;
  auto loaded = load_suite(here.path(), {}, [&](const std::string& what) {
    told.push_back(what);
  });
  REQUIRE(loaded);
  CHECK(loaded->size() == 1);
  REQUIRE(told.size() == 2);
  CHECK(told[0].find("__init__.py is left out") != std::string::npos);
  CHECK(told[1].find("tools/models.py is left out") != std::string::npos);
  fs::remove(here.path() / "level1/a.py");
  CHECK(refusal(here.path()).find("holds no task") != std::string::npos);
  // A model without inputs was meant as a task.
  here.write("level1/b.py", "class Model:\n    pass\n");
  CHECK(refusal(here.path()).find("b.py:1: no 'def get_inputs'")
        != std::string::npos);
}

TEST_CASE("a folder that cannot be read is named", "[task][suite]") {
  folder here;
  here.write("a.py", module(1));
  here.write("closed/b.py", module(2));
  fs::permissions(here.path(), fs::perms::all);
  fs::permissions(here.path() / "closed", fs::perms::none);
  // Root may read everything.
  constexpr uid_t nobody = 65534;
  bool root = ::geteuid() == 0;
  if (root && ::seteuid(nobody) != 0)
    SKIP("root cannot become another user");
  auto loaded = load_suite(here.path(), {});
  if (root)
    REQUIRE(::seteuid(0) == 0);
  fs::permissions(here.path() / "closed", fs::perms::all);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == ec::invalid_argument);
  CHECK(loaded.error().message.find("closed: cannot be read: Permission denied")
        != std::string::npos);
}

TEST_CASE("a file without a model is no task", "[task][suite]") {
  folder here;
  auto loaded = load_task_file(here.write("mine.py", "x = 1\n"), {});
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == ec::task_invalid);
  CHECK(loaded.error().message.find("mine.py:1") != std::string::npos);
  CHECK(load_task_file(here.path() / "gone.py", {}).error().code
        == ec::not_found);
}

TEST_CASE("what is no file is refused unopened", "[task][suite]") {
  folder here;
  auto pipe = here.path() / "pipe.py";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (auto& path : {pipe, here.path(), std::filesystem::path{"/dev/zero"}}) {
    auto loaded = load_task_file(path, {});
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code == ec::invalid_argument);
    CHECK(loaded.error().message.find(path.string()) != std::string::npos);
  }
  CHECK(refusal(pipe).find("found a pipe") != std::string::npos);
}

TEST_CASE("a task's file is text in UTF-8", "[task][suite]") {
  folder here;
  const std::string module = "class Model: pass\ndef get_inputs(): pass\n";
  auto marked = load_task_file(here.write("marked.py", "\xef\xbb\xbf" + module),
                               {});
  REQUIRE(marked);
  CHECK(marked->reference == module);
  CHECK(read_text_file(here.write("marked.cpp", "\xef\xbb\xbfint i;"), "code")
        == "int i;");
  auto latin = load_task_file(here.write("latin.py", module + "# \xe9\n"), {});
  REQUIRE_FALSE(latin);
  CHECK(latin.error().message.ends_with(
    "latin.py:3: expected UTF-8, found the byte 0xe9 at offset 43"));
  CHECK_FALSE(load_task_file(
    here.write("large.py", std::string(max_source_bytes + 1, '#')), {}));
}

TEST_CASE("a suite is split by its seed alone", "[task][suite]") {
  tasks_config tasks;
  tasks.held_out = 6;
  tasks.validation = 4;
  auto first = split_suite(numbered(40), tasks);
  auto reversed = numbered(40);
  std::ranges::reverse(reversed);
  auto second = split_suite(reversed, tasks);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->held_out.size() == 6);
  CHECK(first->validation.size() == 4);
  CHECK(first->train.size() == 30);
  for (size_t i = 0; i < 6; ++i)
    CHECK(first->held_out[i].id == second->held_out[i].id);
  tasks.seed = 99;
  auto other = split_suite(numbered(40), tasks);
  CHECK(other->held_out[0].id != first->held_out[0].id);
}

TEST_CASE("a small suite fills every set", "[task][suite]") {
  auto sets = split_suite(numbered(10), {});
  REQUIRE(sets);
  CHECK(sets->held_out.size() == 3);
  CHECK(sets->validation.size() == 2);
  CHECK(sets->train.size() == 5);
  CHECK_FALSE(split_suite(numbered(2), {}));
}

TEST_CASE("modules that differ in numbers stay together", "[task][suite]") {
  folder here;
  for (int i = 0; i < 30; ++i)
    here.write(fmt::format("t{:02}.py", i),
               module(i / 2) + fmt::format("N = {}  # size\n", 64 * (i + 1)));
  auto loaded = load_suite(here.path(), {});
  REQUIRE(loaded);
  auto sets = split_suite(*loaded, {});
  REQUIRE(sets);
  std::set<std::string> held_out;
  for (auto& what : sets->held_out)
    held_out.insert(what.canonical);
  for (auto& what : sets->train)
    CHECK_FALSE(held_out.contains(what.canonical));
}

TEST_CASE("the reduced KernelBench problems load as tasks", "[task][suite]") {
  fs::path file = "../shared/data/kernelbench-cpu.jsonl";
  if (!fs::exists(file))
    SKIP("../shared/data is not there");
  auto loaded = load_suite(file, {});
  REQUIRE(loaded);
  CHECK(loaded->size() == 125);
  auto sets = split_suite(*loaded, {});
  REQUIRE(sets);
  CHECK(sets->held_out.size() == 41);
}
