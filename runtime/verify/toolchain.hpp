#pragma once

#include "runtime/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace swage {

/// How candidates in function form are compiled on this machine.
class toolchain {
public:
  /// Finds the compiler and what it can do, and precompiles the prelude into
  /// `folder` unless it is there, without and with the processor's intrinsics.
  /// Several processes may do so at once.
  static result<toolchain> probe(const std::filesystem::path& worker,
                                 const std::string& compiler,
                                 const std::filesystem::path& prelude,
                                 const std::filesystem::path& folder);

  /// Makes a shared object of the translation unit on the standard input, which
  /// is `source`: intrinsics are in the prelude if it seems to name some. The
  /// lean prelude has C functions only, and is read in half the time.
  std::vector<std::string> command(std::string_view source,
                                   bool lean = false) const;

  /// Whether `source` names nothing that only the whole prelude has, as far as
  /// its text tells. What compiles behind the lean prelude compiles behind the
  /// whole one to the same code; what does not may still do so behind it.
  static bool is_lean(std::string_view source);

  /// Paths that the compiler has to see.
  const std::vector<std::string>& visible() const { return visible_; }

  /// Compiler version, flags, prelude and processor: whatever makes another
  /// artifact of the same text.
  const std::string& identity() const { return identity_; }

private:
  struct probing;

  std::vector<std::string> compiler_, rest_; ///< The prelude goes between.
  std::string lean_, plain_, with_intrinsics_; ///< Paths of the preludes.
  std::vector<std::string> visible_;
  std::string identity_;
};

} // namespace swage
