#include "tools/bench/build_hash.hpp"

#include "runtime/config/paths.hpp"
#include "runtime/store/durable_file.hpp"
#include "tools/bench/fixture.hpp"

#include <algorithm>
#include <vector>

namespace swage::bench {

namespace fs = std::filesystem;

uint64_t hash_of_build(const fs::path& program) {
  auto bin = program_folder();
  std::vector<fs::path> files = {program, bin / "swage-worker",
                                 bin.parent_path() / "lib/libswage_sandbox.so"};
  for (auto& entry : fs::directory_iterator{verify_folder()})
    if (auto kind = entry.path().extension(); kind == ".py" || kind == ".hpp")
      files.push_back(entry.path());
  std::sort(files.begin() + 3, files.end());
  uint64_t sum = 0;
  for (auto& file : files)
    sum = sum * 1099511628211ull + value_or_exit(file_checksum(file));
  return sum;
}

} // namespace swage::bench
