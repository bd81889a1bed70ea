#include "runtime/verify/shared_memory.hpp"
#include "tests/runtime/verify/one_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace swage;
using test::judge;

/// A module from its forward's lines and what surrounds them.
task module_of(const std::string& forward, const std::string& inputs,
               const std::string& init = "pass") {
  task out;
  out.reference = fmt::format(R"(
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

std::string refusal(const task& what) {
  auto out = judge().load(what);
  if (out)
    return "it was loaded";
  CHECK(out.error().code == ec::task_invalid);
  return out.error().message;
}

bool mentions(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

/// Cases drawn into memory, and what is right for them.
struct drawn {
  std::shared_ptr<const judged_task> what;
  case_layout layout, expected_layout;
  shared_memory memory, expected;

  drawn(const task& source, std::vector<judge_case> cases)
    : what{loaded(source)}, layout{lay_out(what->args)},
      expected_layout{lay_out({{}, {}, what->args.outputs})},
      memory{make(layout, cases)}, expected{make(expected_layout, cases)} {
    auto a = judge().draw(*what, cases, {memory.fd(), &layout});
    if (!a)
      FAIL(a.error().message);
    auto b = judge().compute(*what, cases, {expected.fd(), &expected_layout});
    if (!b)
      FAIL(b.error().message);
  }

  static shared_memory make(const case_layout& layout,
                            const std::vector<judge_case>& cases) {
    auto made = shared_memory::create(layout,
                                      static_cast<uint32_t>(cases.size()));
    if (!made)
      FAIL(made.error().message);
    return std::move(*made);
  }
};

judge_case with_seed(uint64_t seed, uint32_t which = 0) {
  judge_case out;
  out.seed = seed;
  out.which = which;
  return out;
}

const task doubled = module_of("return x * 2", "x=torch.rand(4, 100)");

} // namespace

TEST_CASE("a signature lists inputs, state and outputs", "[verify][judge]") {
  auto what = loaded(module_of(
    "return self.fc(x).t(), (x > y).sum(), k", "x, y, k=torch.rand(3, 4), "
                                               "torch.rand(4, 3).t(), 2.5",
    "self.fc = nn.Linear(4, 5)"));
  const auto& args = what->args;
  REQUIRE(args.inputs.size() == 2);
  CHECK(args.inputs[0].name == "x");
  CHECK(args.inputs[0].shape == std::vector<int64_t>{3, 4});
  CHECK(args.inputs[0].strides.empty());
  CHECK(args.inputs[1].strides == std::vector<int64_t>{1, 3});
  REQUIRE(args.state.size() == 2);
  CHECK(args.state[0].name == "fc_weight");
  CHECK(args.state[1].shape == std::vector<int64_t>{5});
  REQUIRE(args.outputs.size() == 2);
  CHECK(args.outputs[0].shape == std::vector<int64_t>{5, 3});
  CHECK(args.outputs[0].strides.empty());
  CHECK(args.outputs[1].type == dtype::int64);
  CHECK(args.outputs[1].shape.empty());
  REQUIRE(what->constants.size() == 1);
  CHECK(what->constants[0].name == "k");
  CHECK(what->constants[0].value == "2.5");
}

TEST_CASE("names of tensors are distinct C identifiers", "[verify][judge]") {
  auto what = loaded(module_of("return float + out + self.register_1",
                               "float, out=torch.rand(3), torch.rand(3)",
                               "self.register_1 = nn.Parameter(torch.rand(3))"));
  CHECK(what->args.inputs[0].name == "float_");
  CHECK(what->args.inputs[1].name == "out");
  CHECK(what->args.outputs[0].name == "out_");
}

TEST_CASE("buffers that the reference changes are outputs too",
          "[verify][judge]") {
  auto what = loaded(module_of("return self.bn(x)", "x=torch.rand(8, 3)",
                               "self.bn = nn.BatchNorm1d(3)"));
  CHECK(what->args.state.size() == 5);
  REQUIRE(what->args.outputs.size() == 4);
  CHECK(what->args.outputs[1].name == "bn_running_mean_out");
  CHECK(what->args.outputs[3].type == dtype::int64);
}

TEST_CASE("inputs that the reference changes are outputs too",
          "[verify][judge]") {
  auto source = module_of("x.add_(1); return x * 2", "x=torch.rand(5)");
  drawn data{source, {with_seed(1)}};
  REQUIRE(data.what->args.outputs.size() == 2);
  CHECK(data.what->args.outputs[1].name == "x_out");
  auto x = floats(data.memory.input(0, 0))[0];
  CHECK(x < 1);
  CHECK(floats(data.expected.output(0, 1))[0] == x + 1);
}

TEST_CASE("state that the reference sets anew is an output too",
          "[verify][judge]") {
  for (std::string made :
       {"self.hidden = torch.rand(4)",
        "self.register_buffer('hidden', torch.rand(4))"}) {
    drawn data{module_of("self.hidden = self.hidden + x; return x * 2",
                         "x=torch.rand(4)", made),
               {with_seed(1), with_seed(2, 1)}};
    REQUIRE(data.what->args.outputs.size() == 2);
    CHECK(data.what->args.outputs[1].name == "hidden_out");
    for (uint32_t i = 0; i < 2; ++i) {
      auto x = floats(data.memory.input(i, 0));
      auto before = floats(data.memory.state(i, 0));
      auto after = floats(data.expected.output(i, 1));
      for (size_t k = 0; k < 4; ++k)
        CHECK(after[k] == before[k] + x[k]);
    }
  }
}

TEST_CASE("each call finds the state as it was drawn", "[verify][judge]") {
  drawn data{module_of("self.kept = torch.cat([self.kept, x]); "
                       "return self.kept[:4] + self.kept.numel()",
                       "x=torch.rand(4)", "self.kept = torch.zeros(4)"),
             {with_seed(1), with_seed(2, 1)}};
  REQUIRE(data.what->args.outputs.size() == 1);
  for (uint32_t i = 0; i < 2; ++i)
    CHECK(floats(data.expected.output(i, 0))[0] == 8);
}

TEST_CASE("tensors outside the state dict are state", "[verify][judge]") {
  auto what = loaded(module_of("return x + self.hidden", "x=torch.rand(4)",
                               "self.hidden = torch.rand(4)"));
  REQUIRE(what->args.state.size() == 1);
  CHECK(what->args.state[0].name == "hidden");
}

TEST_CASE("a task that cannot be judged says why", "[verify][judge]") {
  CHECK(mentions(refusal(module_of("return torch.log(x - 2)",
                                   "x=torch.rand(5)")),
                 "not finite"));
  CHECK(mentions(refusal(module_of("return F.dropout(x, training=True)",
                                   "x=torch.rand(50)")),
                 "random"));
  CHECK(mentions(refusal(module_of("return x", "x=torch.rand(5)")),
                 "does no work"));
  CHECK(mentions(refusal(module_of("return x + 1", "x=3")), "no tensor"));
  CHECK(mentions(refusal(module_of("return None", "x=torch.rand(5)")),
                 "returns no tensor"));
  CHECK(mentions(refusal(module_of("raise ValueError('bad day')",
                                   "x=torch.rand(5)")),
                 "bad day"));
  CHECK(mentions(refusal(module_of("return x + 1", "x=object()")), "object"));
  CHECK(mentions(refusal(module_of(
                   "return x + 1",
                   "x=torch.rand(torch.randint(2, 90, ()).item())")),
                 "shape"));
  CHECK(mentions(refusal(module_of("return x.to(torch.complex64)",
                                   "x=torch.rand(5)")),
                 "complex64"));
  task broken;
  broken.reference = "class Model(:\n";
  CHECK(mentions(refusal(broken), "SyntaxError"));
  broken.reference = "import torch\n";
  CHECK(mentions(refusal(broken), "'Model'"));
}

TEST_CASE("a rectifier does work although its inputs are positive",
          "[verify][judge]") {
  CHECK(judge().load(module_of("return F.relu(x)", "x=torch.rand(5)")));
}

TEST_CASE("an expanded input gets its stress values too", "[verify][judge]") {
  auto source = module_of("return F.relu(x)",
                          "x=(torch.rand(1, 64) + 0.5).expand(4, 64)");
  auto what = loaded(source);
  CHECK(what->args.inputs[0].strides == std::vector<int64_t>{0, 1});
  REQUIRE(what->stress.size() == 3);
  std::vector<judge_case> cases(2);
  cases[1] = with_seed(0, 1);
  cases[1].kind = case_kind::signed_;
  drawn data{source, cases};
  auto plain = floats(data.memory.input(0, 0));
  auto stressed = floats(data.memory.input(1, 0));
  REQUIRE(stressed.size() == 64);
  size_t negative = 0;
  for (size_t i = 0; i < 64; ++i) {
    CHECK(std::abs(stressed[i]) == plain[i]);
    negative += stressed[i] < 0 ? 1 : 0;
    for (size_t row = 0; row < 4; ++row)
      CHECK(floats(data.expected.output(1, 0))[64 * row + i]
            == std::max(stressed[i], 0.f));
  }
  CHECK(negative > 10);
  CHECK(negative < 54);
}

TEST_CASE("what a task sets in torch ends with it", "[verify][judge]") {
  task rude = module_of(
    "torch.set_num_threads(3); torch.set_default_device('meta'); return x + 1",
    "x=torch.rand(5)", "torch.use_deterministic_algorithms(True)");
  rude.reference += "\n\ntorch.set_default_dtype(torch.float64)\n"
                    "torch.set_grad_enabled(False)\n"
                    "torch.set_float32_matmul_precision('medium')\n"
                    "torch.manual_seed(1)\n";
  // Its own default type is the task's to choose.
  CHECK(loaded(rude)->args.inputs[0].type == dtype::float64);
  auto calm = module_of(
    "self.look(); return x + 1",
    "x=torch.rand(5) if torch.is_grad_enabled() else None", "self.look()");
  calm.reference += R"(

def look(self):
    assert torch.get_default_dtype() == torch.float32
    assert torch.zeros(1).device.type == "cpu"
    assert torch.get_num_threads() == 1
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_float32_matmul_precision() == "highest"


look(None)
Model.look = look
)";
  auto seen = judge().load(calm);
  INFO((seen ? "" : seen.error().message));
  CHECK(seen);
  drawn data{rude, {with_seed(3)}};
  CHECK(data.what->args.outputs[0].type == dtype::float64);
}

TEST_CASE("a judge writes nothing to the folder of temporary files",
          "[verify][judge]") {
  test::scratch_folder temporary;
  const char* usual = std::getenv("TMPDIR");
  std::string before = usual ? usual : "";
  REQUIRE(::setenv("TMPDIR", temporary.path.c_str(), 1) == 0);
  auto made = judge_client::start(
    test::from_environment("SWAGE_PYTHON"),
    std::filesystem::current_path() / "runtime/verify", 42);
  CHECK((usual ? ::setenv("TMPDIR", before.c_str(), 1) : ::unsetenv("TMPDIR"))
        == 0);
  REQUIRE(made);
  CHECK((*made)->load(doubled));
  // Of torch, what compiles modules makes its cache when it is imported.
  CHECK(std::filesystem::is_empty(temporary.path));
}

TEST_CASE("one seed makes one case, another makes another",
          "[verify][judge]") {
  drawn data{doubled, {with_seed(7, 0), with_seed(7, 1), with_seed(8, 2)}};
  auto first = floats(data.memory.input(0, 0));
  CHECK(std::ranges::equal(first, floats(data.memory.input(1, 0))));
  CHECK_FALSE(std::ranges::equal(first, floats(data.memory.input(2, 0))));
  for (size_t i = 0; i < first.size(); ++i)
    REQUIRE(floats(data.expected.output(0, 0))[i] == 2 * first[i]);
}

TEST_CASE("a changed case keeps only its beginning", "[verify][judge]") {
  auto changed = with_seed(7, 1);
  changed.change = 99;
  drawn data{doubled, {with_seed(7, 0), changed}};
  auto a = floats(data.memory.input(0, 0)), b = floats(data.memory.input(1, 0));
  for (size_t i = 0; i < a.size(); ++i)
    CHECK((a[i] == b[i]) == (i < a.size() / 2));
  CHECK(floats(data.expected.output(1, 0))[399] == 2 * b[399]);
}

TEST_CASE("inputs are mixed only where each element stands alone",
          "[verify][judge]") {
  auto what = module_of("return x * 2", "x=torch.rand(8, 16)");
  CHECK(loaded(what)->can_splice);
  // Two halves of such tables are one; their elements mixed are none.
  what = module_of("return (x / (x.sum(-1, keepdim=True) == 1)).sum(-1)",
                   "x=torch.eye(16)[torch.randint(0, 16, (8,))]");
  CHECK_FALSE(loaded(what)->can_splice);
  // Between two of these lies what is none.
  what = module_of("return (x.abs() - 1).sqrt()",
                   "x=torch.randn(8, 16).sign() * (1 + torch.rand(8, 16))");
  CHECK_FALSE(loaded(what)->can_splice);
}

TEST_CASE("inputs with an order or a sum are not put together from two",
          "[verify][judge]") {
  for (auto* inputs :
       {"x=torch.rand(8, 16).sort(-1).values", "x=torch.rand(40).cumsum(0)",
        "x=torch.rand(9, 4).sort(0, descending=True).values",
        "x=torch.randperm(32)", "x=torch.rand(5, 12).argsort(-1)",
        "x=torch.multinomial(torch.ones(50), 20)",
        "x=torch.rand(8, 16).softmax(-1)", "x=F.normalize(torch.randn(8, 16))",
        "x=F.one_hot(torch.randint(0, 9, (8,)), 9)",
        "x=(lambda a: a + a.T)(torch.rand(16, 16))"}) {
    CAPTURE(inputs);
    CHECK_FALSE(loaded(module_of("return x * 2", inputs))->can_splice);
  }
  for (auto* inputs :
       {"x=torch.rand(1)", "x=torch.rand(3, 2)", "x=torch.rand(1, 70000)",
        "x=torch.zeros(4, 4)", "x=torch.rand(16, 16).tril()",
        "x=torch.randint(0, 50, (9,))", "x=torch.randint(0, 2**40, (16, 3))",
        "x=torch.rand(8, 16) < 0.5", "x=torch.randn(8, 64).bfloat16()",
        "x=torch.rand(6, 5).T", "x=torch.rand(1, 64).expand(4, 64)"}) {
    CAPTURE(inputs);
    CHECK(loaded(module_of("return x + 1", inputs))->can_splice);
  }
}

TEST_CASE("an expanded input is put together from two as well",
          "[verify][judge]") {
  auto source = module_of("return x * 2", "x=torch.rand(1, 64).expand(4, 64)");
  std::vector<judge_case> cases{with_seed(7, 0), with_seed(99, 1),
                                with_seed(7, 2)};
  cases[2].change = 99;
  drawn data{source, cases};
  auto made = floats(data.memory.input(2, 0));
  REQUIRE(made.size() == 64);
  for (size_t i = 0; i < made.size(); ++i)
    CHECK(made[i] == floats(data.memory.input(i < 32 ? 0 : 1, 0))[i]);
  CHECK(floats(data.expected.output(2, 0))[64 + 5] == 2 * made[5]);
}

TEST_CASE("parameters differ from case to case and from their start",
          "[verify][judge]") {
  auto source = module_of("return self.norm(x)", "x=torch.rand(4, 64)",
                          "self.norm = nn.LayerNorm(64)");
  drawn data{source, {with_seed(1, 0), with_seed(2, 1)}};
  auto weight = floats(data.memory.state(0, 0));
  auto bias = floats(data.memory.state(0, 1));
  CHECK(std::ranges::count(weight, 1.0f) < 4);
  CHECK(std::ranges::count(bias, 0.0f) < 4);
  CHECK_FALSE(std::ranges::equal(weight, floats(data.memory.state(1, 0))));
  for (auto x : weight)
    CHECK((x > 0.5f && x < 1.5f));
}

TEST_CASE("stress inputs are signed or scaled, indices are not",
          "[verify][judge]") {
  auto source = module_of("return x[i]",
                          "x, i=torch.rand(50) + 0.5, torch.randint(0, 50, (9,))");
  auto what = loaded(source);
  CHECK(what->stress.size() == 3);
  std::vector<judge_case> cases(4);
  for (uint32_t i = 0; i < 4; ++i) {
    cases[i].which = i;
    cases[i].seed = 5;
    cases[i].kind = static_cast<case_kind>(i);
  }
  drawn data{source, cases};
  auto plain = floats(data.memory.input(0, 0));
  int negative = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    auto sign = floats(data.memory.input(1, 0))[i];
    negative += sign < 0;
    CHECK(std::abs(sign) == plain[i]);
    CHECK(floats(data.memory.input(2, 0))[i] >= 2 * plain[i]);
    CHECK(floats(data.memory.input(3, 0))[i] < plain[i] / 4);
  }
  CHECK((negative > 5 && negative < 45));
  CHECK(std::ranges::equal(data.memory.input(1, 1), data.memory.input(0, 1)));
}

TEST_CASE("only stress that is fair for a task is used", "[verify][judge]") {
  auto root = loaded(module_of("return torch.sqrt(x)", "x=torch.rand(50)"));
  CHECK(std::ranges::count(root->stress, case_kind::signed_) == 0);
  CHECK(std::ranges::count(root->stress, case_kind::small) == 1);
}

TEST_CASE("a judge that died is started again with its tasks",
          "[verify][judge]") {
  auto what = loaded(doubled);
  auto before = judge().restarts();
  task deadly;
  deadly.reference = "import os\nos.kill(os.getpid(), 9)\n";
  auto status = judge().load(deadly);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ec::infra);
  drawn data{doubled, {with_seed(3)}};
  CHECK(judge().restarts() == before + 1);
  CHECK(data.what->key == what->key);
}

TEST_CASE("loading can be stopped", "[verify][judge]") {
  task endless;
  endless.reference = "while True:\n    pass\n";
  std::stop_source stop;
  stop.request_stop();
  auto status = judge().load(endless, stop.get_token());
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ec::cancelled);
  CHECK(judge().load(doubled));
}

TEST_CASE("the judge tells the version of its torch", "[verify][judge]") {
  auto version = judge().torch_version();
  REQUIRE(version);
  CHECK(version->find('.') != std::string::npos);
}

TEST_CASE("an error is told by the task's own line", "[verify][judge]") {
  auto told = [](const std::string& text) {
    task what;
    what.reference = text;
    auto said = refusal(what);
    CHECK_FALSE(mentions(said, ".py"));
    return said;
  };
  CHECK(told("\n\nraise KeyError(3)\n")
        == "the reference raises KeyError in line 3: 3");
  CHECK(mentions(told("x = 1\nclass Model(:\n    pass\n"),
                 "the reference raises SyntaxError in line 2: "));
  // Raised in the judge, which calls it with what get_init_inputs returns.
  auto few = module_of("return x", "x=torch.rand(2)", "pass");
  few.reference += "\n\ndef get_init_inputs():\n    return [1]\n";
  CHECK(mentions(told(few.reference), "raises TypeError: "));
}

TEST_CASE("a task that ends the interpreter is invalid", "[verify][judge]") {
  for (auto [call, told] :
       {std::array{"sys.exit(0)", "raises SystemExit in line"},
        {"raise KeyboardInterrupt", "raises KeyboardInterrupt in line"},
        {"os._exit(0)", "ends the interpreter (exit status 0)"},
        {"os.abort()", "ends the interpreter (signal 6)"}}) {
    task what;
    what.reference = fmt::format("import os, sys\n{}\n", call);
    CHECK(mentions(refusal(what), told));
    CHECK(mentions(refusal(module_of(fmt::format("import os, sys; {}", call),
                                     "x=torch.rand(2)")),
                   told));
  }
}

TEST_CASE("a task is refused more than half of the memory", "[verify][judge]") {
  task what;
  // The size of 0.6 times the machine's memory, which nobody fills.
  what.reference = R"(
import os

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x[:8] + 1


def get_inputs():
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return [torch.empty(whole * 3 // 5, dtype=torch.int8)]
)";
  CHECK(mentions(refusal(what), "can't allocate memory"));
}
