#include "runtime/task/essence.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace swage;

namespace {

const std::string plain = R"(
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, size, rate=0.5):
        super().__init__()
        self.size = size
        self.norm = nn.LayerNorm(size, eps=1e-5)

    def forward(self, x, y):
        z = F.relu(self.norm(x)) + y
        return torch.stack([z * i for i in range(3)]).sum(dim=-1)


def get_inputs():
    return [torch.rand(4, 8), torch.rand(4, 8)]
)";

/// The same in other words.
const std::string told = R"(
import torch
from torch import nn

N = 512  # Elements.


class Model(nn.Module):
    """A sum of what is "normalised".

    Of class Model and def get_inputs."""
    def __init__(self, width: int, ratio: float = 0.1) -> None:
        """
        :param width: How wide
        """
        super(Model, self).__init__()
        self.width = width
        self.layer = nn.LayerNorm(width, eps=1e-6)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        'Both are matrices.'
        out = torch.nn.functional.relu(self.layer(a)) + b
        return torch.stack([out * k for k in range(5)]).sum(dim=-2)

size = N

def get_inputs():
    """Draws them."""
    first = torch.rand(16, N)
    return [(first + 1) / 2, first]

def get_init_inputs():
    return [N]

if __name__ == "__main__":
    print(Model(N))
)";

std::string with(std::string text, const std::string& from,
                 const std::string& to) {
  auto at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("other names and docstrings make no other module",
          "[task][essence]") {
  CHECK(essence(plain) == essence(told));
}

TEST_CASE("another computation is another module", "[task][essence]") {
  for (const auto& other :
       {with(plain, "F.relu", "F.gelu"), with(plain, "+ y", "+ x"),
        with(plain, "+ y", "- y"), with(plain, ".sum(", ".mean("),
        with(plain, "dim=", "axis="), with(plain, "LayerNorm", "RMSNorm"),
        with(plain, "self.norm(x)", "x")})
    CHECK(essence(plain) != essence(other));
}

TEST_CASE("another spelling of a literal makes no other module",
          "[task][essence]") {
  for (const auto* number :
       {"0.5", ".5", "1.", "1e-5", "1.5E+3", "1_000", "0x1F", "-1", "+2"}) {
    CAPTURE(number);
    CHECK(essence(plain) == essence(with(plain, "1e-5", number)));
    CHECK(essence(plain)
          == essence(
            with(plain, "range(3)", std::string{"range("} + number + ")")));
  }
  auto returns = [](const std::string& value) {
    return "class Model(nn.Module):\n    def forward(self, x):\n"
           "        return "
           + value + "\n";
  };
  CHECK(essence(returns("-1")) == essence(returns("1")));
  CHECK(essence(returns("x - 1")) != essence(returns("x * 1")));
  CHECK(essence(returns("x * -1")) == essence(returns("x * 2")));
  CHECK(essence(returns("x[-1] - 1")) == essence(returns("x[1] - 2")));
  CHECK(essence(returns("x[0] - 1")) != essence(returns("x[0], 1")));
  CHECK(essence(returns("-x")) != essence(returns("x")));
  CHECK(essence(returns("f(x, 'ij,jk')"))
        == essence(returns("f(x, \"ij,jk\")")));
  CHECK(essence(returns("f(x, 'ij,jk')"))
        != essence(returns("f(x, \"ij,kj\")")));
}

TEST_CASE("a library's arguments keep their names", "[task][essence]") {
  auto named = [](const std::string& local, const std::string& argument) {
    return "class Model(nn.Module):\n"
           "    def forward(self, x, "
           + local + "=1):\n        return f(x).sum(" + argument + "=" + local
           + ")\n";
  };
  CHECK(essence(named("dim", "dim")) == essence(named("axis_of", "dim")));
  CHECK(essence(named("dim", "dim")) != essence(named("keepdim", "keepdim")));
  const std::string layer = R"(
class Model(nn.Module):
    def __init__(self, stride):
        self.attention = nn.MultiheadAttention(4, 2)
        self.conv = nn.Conv2d(3, 3, 3, stride=stride, bias=True)

    def forward(self, x, attn_mask):
        x, y = self.conv(x), sorted(x, key=lambda a, bias=3: a * bias)
        return self.attention(x, x, y, attn_mask=attn_mask)
)";
  CHECK(essence(layer) != essence(with(layer, "stride=", "dilation=")));
  CHECK(essence(layer) != essence(with(layer, "=attn_mask", "=y")));
  CHECK(essence(layer)
        == essence(with(with(layer, "__(self, stride", "__(self, step"),
                        "stride=stride", "stride=step")));
  CHECK(essence(layer)
        == essence(with(with(layer, "x, attn_mask)", "x, hide)"), "=attn_mask",
                        "=hide")));
  CHECK(
    essence(layer)
    == essence(with(with(layer, "a, bias=3", "a, b=3"), "a * bias", "a * b")));
  CHECK(essence(layer + "\nbias = 2\n") == essence(layer));
}

TEST_CASE("a module's own arguments have its names", "[task][essence]") {
  const std::string told = R"(
class Block(nn.Module):
    def __init__(self, size, mask_size=3):
        super().__init__()
        self.size = size + mask_size

    def forward(self, x, mask=None):
        return x * mask * scale(x, by=2)

def scale(x, by):
    return x * by

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = self.make(count=2)
        self.rest = nn.ModuleList([Block(size=2, mask_size=3)])

    def make(self, count):
        return Block(count)

    def forward(self, x):
        for layer in self.rest:
            x = layer(x, mask=x)
        return self.first(x)
)";
  auto other = told;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{
         {"mask_size", "m"},
         {"mask", "hide"},
         {"by", "factor"},
         {"count", "n"},
         {"(self, size", "(self, s"},
         {"= size", "= s"},
         {"(size", "(s"}})
    for (size_t at = 0; (at = other.find(from, at)) != other.npos;
         at += to.size())
      other.replace(at, from.size(), to);
  CHECK(essence(told) == essence(other));
  CHECK(essence(told) != essence(with(told, "mask=x", "other=x")));
}

TEST_CASE("an empty constructor is as good as none", "[task][essence]") {
  const std::string
    rest = "    def forward(self, x):\n        return x.exp()\n";
  const std::string head = "class Model(nn.Module):\n";
  CHECK(essence(head + rest)
        == essence(head
                   + "    def __init__(self):\n"
                     "        super(Model, self).__init__()\n\n"
                   + rest));
}

TEST_CASE("what a constructor hands to its base is computation",
          "[task][essence]") {
  auto made = [](const std::string& call) {
    return "class Model(nn.Sequential):\n"
           "    def __init__(self, size):\n"
           "        "
           + call + "\n";
  };
  auto none = essence("class Model(nn.Sequential):\n");
  auto relu = essence(made("super().__init__(nn.Linear(size, 4), nn.ReLU())"));
  auto gelu = essence(made("super().__init__(nn.Linear(size, 4), nn.GELU())"));
  CHECK(relu != gelu);
  CHECK(relu != none);
  CHECK(relu
        == essence(
          made("super(Model, self).__init__(nn.Linear(size, 8), nn.ReLU())")));
  CHECK(relu
        != essence(
          made("super(Other, self).__init__(nn.Linear(size, 8), nn.ReLU())")));
  CHECK(essence(made("super().__init__(*layers(size))")) != none);
  CHECK(essence(made("super().__init__().run(size)")) != none);
  CHECK(essence(made("super(Model, self).__init__()")) == none);
}

TEST_CASE("statements of one line are statements", "[task][essence]") {
  auto does = [](const std::string& body) {
    return essence("class Model(nn.Module):\n    def forward(self, x):\n"
                   "        "
                   + body + "\n        return x\n");
  };
  CHECK(does("if x: x = f(x)") == does("if x:\n            x = f(x)"));
  CHECK(does("if x: x = f(x)") != does("while x: x = f(x)"));
  CHECK(does("x = f(x); x = g(x)") == does("x = f(x)\n        x = g(x)"));
  CHECK(does("if x: x = f(x); x = g(x)")
        == does("if x:\n            x = f(x)\n            x = g(x)"));
  CHECK(does("if x: x = f(x); x = g(x)")
        != does("if x: x = f(x)\n        x = g(x)"));
  CHECK(does("for i in g(lambda y: y): x = x[1:2]")
        == does("for k in g(lambda z: z):\n            x = x[1:2]"));
  CHECK(does("y = lambda z: x; x = y(1)")
        == does("z = lambda y: x\n        x = z(1)"));
  CHECK(essence("class A(B):\n    def __init__(self): super().__init__()\n")
        == essence("class A(B):\n"));
}

TEST_CASE("text without a class is its own essence", "[task][essence]") {
  CHECK(essence("x = 1\n") == "x = 1\n");
  CHECK(essence("").empty());
}
