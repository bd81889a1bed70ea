#include "runtime/task/fill.hpp"

#include <algorithm>

namespace swage {

std::string fill(std::string_view text, const substitutions& values) {
  std::string out;
  while (!text.empty()) {
    auto open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty())
      break;
    auto close = text.find('}');
    auto name = text.substr(1, close == text.npos ? close : close - 1);
    auto found = std::ranges::find(values, name,
                                   [](auto& x) { return x.first; });
    if (close == text.npos || found == values.end()) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    out += found->second;
    text.remove_prefix(close + 1);
  }
  return out;
}

} // namespace swage
