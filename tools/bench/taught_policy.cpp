#include "tools/bench/taught_policy.hpp"

#include "actors/system.hpp"
#include "runtime/buffer/seeded.hpp"
#include "runtime/config/config_text.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/store/checkpoint.hpp"
#include "runtime/weights/snapshot.hpp"
#include "tools/bench/fixture.hpp"
#include "tools/swage/policy_parts.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace swage::bench {

namespace {

namespace fs = std::filesystem;

constexpr const char* model_files[]
  = {"config.json", "tokenizer.json", "model.safetensors"};

uint64_t hash_of_file(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::vector<std::byte> bytes;
  for (std::istreambuf_iterator<char> i{in}, end; i != end; ++i)
    bytes.push_back(static_cast<std::byte>(*i));
  return checksum(bytes);
}

/// Where the policy of these settings is kept, from whatever folder its files
/// were read.
fs::path place_of(config settings) {
  auto from = std::exchange(settings.policy.path, "");
  auto key = mix({config_hash(settings),
                  hash_of_file(fs::path{from} / "config.json"),
                  hash_of_file(fs::path{from} / "tokenizer.json")});
  return cache_folder("").parent_path() / "bench"
         / fmt::format("policy-{:016x}", key);
}

bool is_complete(const fs::path& folder) {
  std::error_code ignored;
  for (auto* name : model_files)
    if (!fs::exists(folder / name, ignored))
      return false;
  return true;
}

/// Copies a checkpoint to where it is kept: whole or not at all.
void keep(const fs::path& checkpoint, const fs::path& place) {
  auto part = place;
  part += fmt::format(".part-{}", ::getpid());
  fs::create_directories(part);
  for (auto* name : model_files)
    fs::copy_file(checkpoint / name, part / name,
                  fs::copy_options::overwrite_existing);
  std::error_code failed;
  fs::rename(part, place, failed);
  if (failed)
    fs::remove_all(part); // Another process was first.
  if (!is_complete(place))
    give_up(3, fmt::format("cannot keep the taught policy in '{}': {}",
                           place.string(), failed.message()));
}

} // namespace

fs::path taught_policy(config settings, const fs::path& scratch) {
  settings.run.stages = {"teach", "sft"};
  settings.verifier.cache.clear();
  auto place = place_of(settings);
  if (is_complete(place)) {
    std::fprintf(stderr, "the taught policy is in %s\n", place.c_str());
    return place;
  }
  std::fprintf(stderr, "teaching a policy: %u tasks, %u steps; kept in %s\n",
               settings.tasks.taught, settings.learner.sft_steps,
               place.c_str());
  auto start = steady::now();
  auto out = scratch / "teach";
  fs::create_directories(out);
  settings.verifier.cache = scratch / "teach-cache";
  node_options options{.out = out, .policy = make_policy_factory(settings)};
  if (auto code = run_node(settings, options, {}); code != 0)
    give_up(code, "the policy could not be taught; see above");
  auto newest = checkpoint_store{out / "checkpoints", 1}.newest_valid();
  if (!newest)
    give_up(3, fmt::format("teaching left no checkpoint in '{}'",
                           out.string()));
  keep(newest->directory, place);
  std::fprintf(stderr, "taught in %.0f s\n", since(start));
  return place;
}

} // namespace swage::bench
