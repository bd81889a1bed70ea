#pragma once

#include <string>
#include <vector>

namespace swage {

/// A text table: the first column is left-aligned, the others right-aligned,
/// widths counted in characters (UTF-8), not in bytes.
class table {
public:
  explicit table(std::vector<std::string> header);

  /// @pre At most as many cells as the header has; missing ones stay empty.
  void add(std::vector<std::string> cells);

  /// Columns that hold text and are aligned left; by default the first.
  void align_left(size_t column);

  /// Header, a rule, the rows; each line ends with a newline and has no
  /// trailing spaces.
  std::string text() const;

private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

/// Characters that UTF-8 text takes on a terminal, each counted as one.
size_t text_width(const std::string& text);

} // namespace swage
