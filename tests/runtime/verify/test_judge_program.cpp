#include "engine_fixture.hpp"

#include "runtime/config/config.hpp"
#include "runtime/task/generate.hpp"
#include "runtime/task/prompt.hpp"
#include "runtime/task/program.hpp"

#include <fmt/format.h>

#include <set>

// What a module computes, read back as a program of the operator table.

namespace swage::test {

namespace {

engine& reader() {
  static scratch_folder cache;
  static auto made = [] {
    auto options = options_in(cache.path);
    options.read_programs = true;
    return start(options);
  }();
  return *made;
}

task loaded(const std::string& reference) {
  task what;
  what.reference = reference;
  INFO(reference);
  auto out = reader().load(what);
  if (!out)
    FAIL(out.error().message);
  return *out;
}

/// A module of a constructor's lines and forward's, on inputs of this size.
task module_of(const std::string& init, const std::string& forward,
               const std::string& input = "torch.randn(48, 64)") {
  return loaded(fmt::format("import torch\nimport torch.nn as nn\n"
                            "import torch.nn.functional as F\n"
                            "class Model(nn.Module):\n"
                            "    def __init__(self):\n"
                            "        super().__init__()\n"
                            "        {}\n"
                            "    def forward(self, x):\n"
                            "        {}\n"
                            "def get_inputs():\n"
                            "    return [{}]\n"
                            "def get_init_inputs():\n"
                            "    return []\n",
                            init, forward, input));
}

std::string prompt_of(const task& what) {
  return render_prompt(what, "compact");
}

} // namespace

TEST_CASE("a generated module's text says the program that it was made from",
          "[verify][judge]") {
  tasks_config tasks;
  tasks.train = 300;
  tasks.validation = 0;
  tasks.held_out = 1;
  tasks.level_weights = {0.5, 0.5};
  auto sets = generate_sets(tasks, {});
  REQUIRE(sets);
  std::set<std::string> seen;
  for (auto& made : sets->train) {
    auto read = loaded(made.reference);
    INFO(made.program << "\n" << read.program << "\n" << made.reference);
    seen.insert(made.tags.begin(), made.tags.end());
    // "scale, bias" is "affine" too, and "axpy" with 1 is "add".
    if (read.program.find("affine") == std::string::npos
        && made.program.find("axpy") == std::string::npos)
      CHECK(prompt_of(read) == prompt_of(made));
    else
      CHECK_FALSE(read.program.empty());
  }
  CHECK(seen.size() > 90); // Of the table's hundred operators.
}

TEST_CASE("modules, methods and functions say the same", "[verify][judge]") {
  struct row {
    const char *init, *forward, *prompt;
  };
  for (auto& [init, forward, prompt] :
       {row{"self.f = nn.ReLU()", "return self.f(x)", "relu"},
        {"self.f = nn.ReLU(inplace=True)", "return self.f(x * 2.0)",
         "mul_c 2\nrelu"},
        {"pass", "return x.relu()", "relu"},
        {"pass", "y = F.relu(x)\n        return y + 0.5", "relu\nadd_c 0.5"},
        {"pass", "return x.softmax(-1)", "softmax b"},
        {"self.f = nn.Softmax(dim=1)", "return self.f(x)", "softmax b"},
        {"self.f = nn.GELU()", "return 2 * self.f(x)", "gelu\nmul_c 2"},
        {"pass", "return x.mean(dim=-1, keepdim=True)", "mean b keep"},
        {"pass", "return x.max(dim=0).values", "amax a"},
        {"pass", "return x.clamp(min=0.3)", "max_c 0.3"},
        {"pass", "return x ** 2", "square"},
        {"pass", "return (x * x).sum(1)", "square\nsum b"},
        {"pass", "return x.t().contiguous()", "transpose ba"},
        {"self.f = nn.Linear(64, 32)", "return torch.tanh(self.f(x))",
         "linear 32\ntanh"},
        {"self.f = nn.LayerNorm(64)", "return self.f(x)", "layer_norm b"},
        {"self.f = nn.Dropout(0.5).eval()", "return torch.sin(self.f(x))",
         "sin"}}) {
    INFO(init << "\n" << forward);
    CHECK(prompt_of(module_of(init, forward))
          == fmt::format("x ab\n{}\n->\n", prompt));
  }
}

TEST_CASE("a module that the table does not say has no program",
          "[verify][judge]") {
  struct row {
    const char *init, *forward;
  };
  for (auto& [init, forward] :
       {row{"pass", "return torch.fft.fft(x).real"},
        {"pass", "return torch.relu(x), torch.tanh(x)"},
        {"pass", "return x.add_(1)"},
        {"pass", "return torch.relu(x) if x.sum() > 0 else torch.tanh(x)"},
        {"self.w = nn.Parameter(torch.ones(64, 64))", "return torch.relu(x)"},
        {"self.f = nn.Conv1d(48, 8, 3)", "return self.f(x)"}}) {
    INFO(init << "\n" << forward);
    CHECK(module_of(init, forward).program.empty());
  }
  CHECK(module_of("pass", "return torch.relu(x)",
                  "torch.randn(64, 144)[:, ::3]")
          .program.empty());
}

} // namespace swage::test
