#include "runtime/verify/load_tasks.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <string>
#include <utility>

using namespace swage;

namespace {

/// Loads what it has no refusal for, and gives it an output.
class scripted_engine : public engine {
public:
  result<task> load(const task& what) override {
    if (auto found = refusals.find(what.id); found != refusals.end())
      return fail(found->second, "refused");
    auto out = what;
    out.args.outputs.resize(1);
    return out;
  }

  verdict verify(const task&, const candidate&, std::stop_token) override {
    return {};
  }

  std::map<std::string, ec> refusals;
};

std::vector<task> named(std::initializer_list<const char*> ids) {
  std::vector<task> out;
  for (auto* id : ids) {
    out.emplace_back();
    out.back().id = id;
  }
  return out;
}

} // namespace

TEST_CASE("loaded tasks know their arguments", "[verify][load]") {
  scripted_engine judge;
  judge.refusals["b"] = ec::task_invalid;
  std::vector<std::string> left_out;
  size_t last = 0;
  auto loaded = load_tasks(
    judge, named({"a", "b", "c"}),
    {[&](const task& one, const error&) { left_out.push_back(one.id); },
     [&](size_t done, size_t total) {
       CHECK(total == 3);
       last = done;
     }});
  REQUIRE(loaded.has_value());
  REQUIRE(loaded->size() == 2);
  CHECK((*loaded)[1].id == "c");
  CHECK((*loaded)[1].args.outputs.size() == 1);
  CHECK(left_out == std::vector<std::string>{"b"});
  CHECK(last == 3);
}

TEST_CASE("a set of invalid tasks is refused", "[verify][load]") {
  scripted_engine judge;
  judge.refusals["a"] = ec::task_invalid;
  CHECK(load_tasks(judge, named({"a"}), {}).error().code == ec::task_invalid);
}

TEST_CASE("an engine that fails is not the tasks' fault", "[verify][load]") {
  scripted_engine judge;
  judge.refusals["b"] = ec::infra;
  auto loaded = load_tasks(judge, named({"a", "b", "c"}), {});
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code == ec::infra);
}
