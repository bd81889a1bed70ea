#pragma once

#include "runtime/verify/engine.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <unistd.h>

namespace swage::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// The variable, or a skip that names it: ctest sets both.
inline std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value)
    SKIP("the variable " << name << " is not set; run through ctest");
  return value;
}

/// A cache folder that ends with the test.
struct scratch_folder {
  std::filesystem::path path;

  scratch_folder() {
    auto name = (std::filesystem::temp_directory_path() / "swage-engine-XXXXXX")
                  .string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }

  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

inline engine_options options_in(const std::filesystem::path& cache) {
  engine_options options;
  options.worker = from_environment("SWAGE_BIN") / "swage-worker";
  options.python = from_environment("SWAGE_PYTHON");
  options.cache = cache;
  options.library = std::filesystem::current_path() / "runtime/verify";
  return options;
}

inline std::unique_ptr<engine> start(const engine_options& options) {
  auto made = engine::start(options);
  if (!made)
    FAIL(made.error().message);
  return std::move(*made);
}

inline task task_from(const std::filesystem::path& file) {
  task out;
  out.id = file.string();
  out.reference = read_file(file);
  REQUIRE_FALSE(out.reference.empty());
  return out;
}

} // namespace swage::test
