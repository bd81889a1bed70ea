#include "runtime/task/essence.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

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

TEST_CASE("an empty constructor is as good as none", "[task][essence]") {
  const std::string rest = "    def forward(self, x):\n        return x.exp()\n";
  const std::string head = "class Model(nn.Module):\n";
  CHECK(essence(head + rest)
        == essence(head
                   + "    def __init__(self):\n"
                     "        super(Model, self).__init__()\n\n"
                   + rest));
}

TEST_CASE("text without a class is its own essence", "[task][essence]") {
  CHECK(essence("x = 1\n") == "x = 1\n");
  CHECK(essence("").empty());
}
