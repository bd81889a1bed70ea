#pragma once

#include "runtime/error.hpp"

#include <cstdint>
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

  /// What is put before a candidate: C functions only, which is read in half
  /// the time; all of prelude.hpp; that with the processor's intrinsics.
  enum class prelude : uint8_t { lean, plain, intrinsics };

  /// The preludes behind which `source` may compile, to be tried in order. What
  /// compiles behind an earlier one does so behind the later ones to the same
  /// code, unless it uses an intrinsic's name for something of its own.
  static std::vector<prelude> preludes(std::string_view source);

  /// Makes a shared object of the translation unit on the standard input.
  std::vector<std::string> command(prelude before) const;

  /// Paths that the compiler has to see.
  const std::vector<std::string>& visible() const { return visible_; }

  /// Compiler version, flags, prelude and processor: whatever makes another
  /// artifact of the same text.
  const std::string& identity() const { return identity_; }

private:
  struct probing;

  std::vector<std::string> compiler_, rest_; ///< The prelude goes between.
  /// Behind the lean one, without the C++ library: reading its table of symbols
  /// takes a quarter of a link.
  std::vector<std::string> lean_rest_;
  std::string lean_, plain_, intrinsics_; ///< Paths of the preludes.
  std::vector<std::string> visible_;
  std::string identity_;
};

} // namespace swage
