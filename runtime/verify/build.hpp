#pragma once

#include "runtime/error.hpp"
#include "runtime/task/task.hpp"
#include "runtime/verify/rejection.hpp"

#include <tl/expected.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace swage {

/// A candidate in function form, compiled: a shared object's bytes, which
/// exports `kernel` and `swage_call(void** tensors, const int64_t* sizes)`.
struct artifact {
  std::string bytes;
  std::string key;     ///< 32 hexadecimal digits; names the content.
  bool cached = false; ///< Nothing was compiled.
  double build_s = 0;  ///< Wall time.
  double cpu_s = 0;    ///< CPU time of the compiler's processes.
};

struct builder_options {
  std::filesystem::path
    worker;                    ///< `swage-worker`, which confines the compiler.
  std::filesystem::path cache; ///< Made if missing; may be shared by processes.
  std::filesystem::path prelude; ///< The candidates' prelude.hpp.
  std::string compiler = "g++";
  uint64_t max_cache_bytes = uint64_t{2} << 30;
};

struct build_limits {
  double timeout_s = 30;
  uint64_t memory_bytes = uint64_t{2} << 30;
  std::stop_token stop;
};

/// Compiles candidates behind a precompiled prelude and keeps the artifacts,
/// and the refusals, in a cache on disk. Thread-safe; several builders may
/// share a cache folder.
class builder {
public:
  /// Finds the compiler and precompiles the prelude unless the cache has it.
  static result<std::unique_ptr<builder>> create(builder_options options);

  ~builder();

  /// The artifact, or why there is none: `compile_*` charges the candidate,
  /// `infra_*` does not (and is not cached, as timeouts are not).
  tl::expected<artifact, rejection> build(std::string_view code,
                                          const signature& args,
                                          const build_limits& limits = {});

  /// Name of a build's content: code, prototype, toolchain, flags, processor.
  std::string key(std::string_view code, const signature& args) const;

  /// What the compiler is called with, for logs and verdict keys.
  const std::string& toolchain() const;

private:
  struct impl;
  explicit builder(std::unique_ptr<impl> self);
  std::unique_ptr<impl> impl_;
};

} // namespace swage
