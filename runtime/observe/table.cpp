#include "runtime/observe/table.hpp"

#include <algorithm>
#include <cassert>

namespace swage {

namespace {

constexpr const char* gap = "  ";

std::string repeated(const char* text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

void trim_right(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

} // namespace

size_t text_width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

table::table(std::vector<std::string> header) : left_(header.size()) {
  assert(!header.empty());
  left_[0] = true;
  rows_.push_back(std::move(header));
}

void table::add(std::vector<std::string> cells) {
  assert(cells.size() <= left_.size());
  cells.resize(left_.size());
  rows_.push_back(std::move(cells));
}

void table::align_left(size_t column) {
  left_.at(column) = true;
}

std::string table::text() const {
  std::vector<size_t> widths(left_.size());
  for (auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], text_width(row[i]));
  std::string all;
  for (auto& row : rows_) {
    std::string line, rule;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string space(widths[i] - text_width(row[i]), ' ');
      line += (i ? gap : "") + (left_[i] ? row[i] + space : space + row[i]);
      rule += (i ? gap : "") + repeated("─", widths[i]);
    }
    trim_right(line);
    all += line + '\n';
    if (&row == &rows_.front())
      all += rule + '\n';
  }
  return all;
}

} // namespace swage
