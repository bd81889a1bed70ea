#include "runtime/verify/audit.hpp"
#include "runtime/verify/shared_memory.hpp"
#include "tests/runtime/verify/one_judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace swage;
using test::judge;
using names = std::vector<std::string>;

/// Line 10 is the last of `__init__`, line 13 that of `forward`.
task module_of(const std::string& forward, const std::string& inputs,
               const std::string& init = "pass") {
  task out;
  out.reference = fmt::format(R"(import os
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {}

    def forward(self, {}):
        {}


def get_inputs():
    return [{}]
)",
                              init, inputs.substr(0, inputs.find('=')), forward,
                              inputs.substr(inputs.find('=') + 1));
  return out;
}

std::shared_ptr<const judged_task> loaded(const task& what) {
  auto out = judge().load(what);
  if (!out)
    FAIL(out.error().message);
  return *out;
}

std::vector<mutant> mutants_of(const task& what, size_t most = 100) {
  auto made = judge().mutants(*loaded(what), most);
  if (!made)
    FAIL(made.error().message);
  return *made;
}

names named(const std::vector<mutant>& all) {
  names out;
  for (const auto& one : all)
    out.push_back(one.what);
  return out;
}

bool has(const names& all, const std::string& one) {
  INFO(fmt::format("{}", fmt::join(all, "; ")));
  return std::ranges::find(all, one) != all.end();
}

task_audit audited(const task& what, size_t most = 100) {
  secret_seeds seeds{7};
  auto out = audit_task(what, most, {judge(), seeds, {}});
  if (!out)
    FAIL(out.error().message);
  return *out;
}

} // namespace

TEST_CASE("mutants say line and change", "[verify][audit]") {
  auto all = named(mutants_of(module_of(
    "return torch.relu(self.fc(x) * 3 + 1)", "x=torch.rand(4, 5)",
    "self.fc = nn.Linear(5, 5)")));
  CHECK(all
        == names{"line 10: ignored the bias of Linear",
                 "line 13: ignored the signs of x", "line 13: ignored x",
                 "line 13: dropped relu", "line 13: relu became abs",
                 "line 13: + became -", "line 13: dropped + 1",
                 "line 13: * became +", "line 13: dropped * 3",
                 "line 13: dropped fc", "line 13: 3 became 6",
                 "line 13: 1 became 2"});
}

TEST_CASE("of many mutants some are chosen evenly", "[verify][audit]") {
  auto what = module_of("return torch.relu(x * 3 + 1)", "x=torch.rand(4)");
  auto all = named(mutants_of(what));
  auto few = named(mutants_of(what, 3));
  REQUIRE(few.size() == 3);
  for (size_t i = 0; i < 3; ++i)
    CHECK(few[i] == all[i * all.size() / 3]);
}

TEST_CASE("layers in lists and called functions are altered",
          "[verify][audit]") {
  auto what = module_of("return self.after(self.net(x))", "x=torch.rand(4, 5)",
                        "self.net = nn.Sequential(nn.Linear(5, 5), nn.GELU())"
                        "\n\n    def after(self, x):\n        return x * 2");
  auto all = named(mutants_of(what));
  CHECK(has(all, "line 10: dropped GELU"));
  CHECK(has(all, "line 10: GELU became ReLU"));
  CHECK(has(all, "line 10: dropped Linear"));
  CHECK(has(all, "line 13: dropped * 2"));
  CHECK(has(all, "line 16: dropped after"));
  auto found = audited(what);
  CHECK(found.survivors.empty());
  CHECK(found.counted() == all.size());
}

TEST_CASE("what draws inputs and parameters is not altered",
          "[verify][audit]") {
  for (auto& one : mutants_of(module_of(
         "return x.view(2 * 2) + self.w", "x=torch.rand(4) * 2 + 1",
         "self.w = nn.Parameter(torch.rand(2 + 2) * 3)"))) {
    CAPTURE(one.what);
    CHECK(one.what.starts_with("line 13: "));
    CHECK(one.source.find("torch.rand(4) * 2 + 1") != std::string::npos);
    CHECK(one.source.find("view(2 * 2)") != std::string::npos);
  }
}

TEST_CASE("each mutant gets its task's inputs and state", "[verify][audit]") {
  auto what = loaded(module_of(
    "return self.bn(self.fc(x)) * self.w", "x=torch.rand(8, 3)",
    "self.fc, self.bn, self.w = nn.Linear(3, 4), nn.BatchNorm1d(4), "
    "nn.Parameter(torch.rand(4))"));
  auto layout = lay_out({{}, {}, what->args.outputs});
  auto right = shared_memory::create(layout, 3);
  auto got = shared_memory::create(layout, 3);
  REQUIRE(right);
  REQUIRE(got);
  std::vector<judge_case> cases(3);
  for (uint32_t i = 0; i < 3; ++i) {
    cases[i].seed = 100 + i;
    cases[i].which = i;
  }
  cases[1].kind = case_kind::signed_;
  cases[2].state = 5;
  REQUIRE(judge().compute(*what, cases, {right->fd(), &layout}));
  REQUIRE(judge().compute_altered(*what,
                                  {"none", "# The same.\n" + what->reference},
                                  cases, {got->fd(), &layout}));
  for (uint32_t which = 0; which < 3; ++which)
    for (size_t i = 0; i < what->args.outputs.size(); ++i)
      CHECK(std::ranges::equal(right->output(which, i), got->output(which, i)));
}

TEST_CASE("a strong task catches all of its mutants", "[verify][audit]") {
  auto found = audited(module_of("return torch.relu(x * self.w + self.b)",
                                 "x=torch.rand(64, 32)",
                                 "self.w, self.b = nn.Parameter(torch.rand(32))"
                                 ", nn.Parameter(torch.rand(32))"));
  CHECK(found.survivors == names{});
  CHECK(found.caught == 8);
  CHECK(found.stillborn == 0);
  CHECK(found.share() == 1);
}

TEST_CASE("a task without negative values hides a rectifier",
          "[verify][audit]") {
  auto found = audited(module_of("return torch.relu(torch.sqrt(x))",
                                 "x=torch.rand(64, 32)"));
  CHECK(found.survivors
        == names{"line 13: ignored the signs of x", "line 13: dropped relu",
                 "line 13: relu became abs"});
  CHECK(found.share() < 0.8);
}

TEST_CASE("answers that need no computing are tried", "[verify][audit]") {
  auto answers = [](const std::string& forward) {
    return audited(module_of(forward, "x=torch.randn(64, 32)")).answers;
  };
  CHECK(answers("return x * 2") == names{});
  CHECK(answers("return torch.softmax(x, -1)") == names{});
  CHECK(answers("return x.new_zeros(8) * x.sum()")
        == names{"zeros", "mean", "another input"});
  CHECK(answers("return x.sum().abs() + 3 > 1")
        == names{"mean", "another input"});
  CHECK(answers("return x + 1e-6 * torch.sin(x)")
        == names{"input"});
}

TEST_CASE("an operand without effect is a survivor", "[verify][audit]") {
  auto found = audited(module_of("return x * 2 + 0 * self.w",
                                 "x=torch.randn(64)",
                                 "self.w = nn.Parameter(torch.rand(64))"));
  CHECK(has(found.survivors, "line 13: + became -"));
  CHECK(has(found.survivors, "line 13: dropped + 0 * self.w"));
  CHECK_FALSE(has(found.survivors, "line 13: dropped * 2"));
}

TEST_CASE("what the tolerance hides is a survivor", "[verify][audit]") {
  auto found = audited(module_of("return x * 1000000 + y",
                                 "x, y=torch.rand(64) + 1, torch.rand(64)"));
  CHECK(found.survivors
        == names{"line 13: ignored the signs of y", "line 13: ignored y",
                 "line 13: + became -", "line 13: dropped + y"});
}

TEST_CASE("a mutant of another shape is not counted", "[verify][audit]") {
  auto found = audited(module_of("return x.sum(dim=1)", "x=torch.randn(8, 4)"));
  CHECK(found.survivors == names{});
  // Dropped, and along the other axis.
  CHECK(found.stillborn == 2);
  CHECK(found.caught == 3);
}

TEST_CASE("a mutant that ends the judge is not counted", "[verify][audit]") {
  auto what = module_of("if x[0] > 2: os._exit(3)\n        return x * 2",
                        "x=torch.rand(64) / 4");
  auto before = judge().restarts();
  auto found = audited(what);
  CHECK(judge().restarts() > before);
  CHECK(found.survivors == names{});
  CHECK(found.stillborn == 1);
  CHECK(found.caught >= 4);
}

TEST_CASE("a task that cannot be judged is not audited", "[verify][audit]") {
  secret_seeds seeds{7};
  auto found = audit_task(module_of("return torch.rand(3)", "x=torch.rand(3)"),
                          24, {judge(), seeds, {}});
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ec::task_invalid);
}

TEST_CASE("a task that depends on earlier calls is not audited",
          "[verify][audit]") {
  secret_seeds seeds{7};
  auto found = audit_task(
    module_of("self.calls += 1; return x * 2 + (self.calls > 3)",
              "x=torch.rand(4)", "self.calls = 0"),
    24, {judge(), seeds, {}});
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ec::task_invalid);
  CHECK(found.error().message.find("earlier calls") != std::string::npos);
}
