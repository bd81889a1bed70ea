#include "tests/support/walk_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace swage::test {

void walk_trace::event(double now, std::string text) {
  events_.push_back({++last_, now, "* " + std::move(text)});
}

void walk_trace::message(double now, std::string text) {
  messages_.push_back({++last_, now, std::move(text)});
  if (!whole && messages_.size() > newest)
    messages_.pop_front();
}

std::string walk_trace::text() const {
  std::vector<line> all{events_};
  all.insert(all.end(), messages_.begin(), messages_.end());
  std::sort(all.begin(), all.end(),
            [](auto& a, auto& b) { return a.number < b.number; });
  std::string out;
  for (auto& one : all)
    out += fmt::format("{:9.3f}  {}\n", one.now, one.text);
  return out;
}

} // namespace swage::test
