#pragma once

#include "runtime/config/config.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace swage {

/// The field of a `config` that a knob sets.
using knob_field = std::variant<std::string*, bool*, double*, uint32_t*,
                                int32_t*, uint64_t*, std::vector<std::string>*,
                                std::vector<double>*>;

/// Inclusive bounds of a number (or of each element of a list).
struct knob_range {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false; ///< `low` itself is not allowed.
};

/// Whether a knob of a run may be another one when the run is resumed.
enum class on_resume : uint8_t { may_change, fixed };

/// One row of the table that everything about configuration is made from: the
/// loader's checks, `--set`, `--help-config` and the comments in a file.
struct knob {
  std::string_view table, key;
  knob_field (*field)(config&);
  knob_range range;
  std::vector<std::string_view> choices; ///< Empty: any text.
  std::string_view help;                 ///< One line.
  on_resume resume = on_resume::may_change;
  bool is_file_name = false; ///< Text: letters, digits, '-', '_' and '.'.

  /// "table.key".
  std::string path() const;
};

/// All knobs, tables and keys in the order of the documentation.
/// `[[cluster.node]]` is not among them: see `load_config`.
std::span<const knob> knobs();

/// Null if there is none.
const knob* find_knob(std::string_view table, std::string_view key);

/// Known knob that `key` in `table` was probably meant to be: the same key of
/// another table, a name that another system has for it, or the nearest one by
/// edit distance. As "table.key"; empty if nothing is near.
std::string nearest_knob(std::string_view table, std::string_view key);

/// Whether `text` can name a file or a node: letters, digits, '-', '_' and
/// '.', not beginning with '.', at most 64 bytes.
bool is_file_name(std::string_view text);

/// Nearest table, such as "learner" for "lerner"; empty if nothing is near.
std::string nearest_table(std::string_view table);
bool is_table(std::string_view table);

/// Nearest of `names` by edit distance; empty if nothing is near.
std::string nearest(std::string_view word,
                    std::span<const std::string_view> names);

/// What a value must be: "a whole number from 1 to 64", "one of drop, wait".
std::string expectation(const knob& row);

/// Why the value in `settings` is not allowed: "0 is not a whole number from 1
/// to 64", with the nearest choice where there is one; nothing if it is fine.
std::optional<std::string> complaint(const knob& row, const config& settings);

/// The value as TOML text: `0.5`, `"drop"`, `["sft", "eval"]`.
std::string value_text(const knob& row, const config& settings);

/// `text` as a TOML basic string, quoted and escaped.
std::string toml_quote(std::string_view text);

} // namespace swage
