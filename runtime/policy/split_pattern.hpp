#pragma once

#include "runtime/error.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace swage {

/// The regular expression by which a tokenizer cuts text into words before it
/// merges. Thread-safe.
class split_pattern {
public:
  /// `pattern` in the dialect of tokenizer files (Oniguruma), of which the
  /// part that byte-level tokenizers use is understood: `\s` is Unicode's
  /// White_Space. Fails with `ec::unsupported` naming the pattern.
  static result<split_pattern> compile(const std::string& pattern);

  /// The matches in `text` and what lies between them, in order.
  /// @pre `text` is well-formed UTF-8.
  std::vector<std::string_view> split(std::string_view text) const;

private:
  struct code;
  std::shared_ptr<const code> code_;
};

} // namespace swage
