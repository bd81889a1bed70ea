#include "runtime/verify/build_cache.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace swage;

namespace fs = std::filesystem;

namespace {

struct folder {
  folder()
    : path(fs::temp_directory_path()
           / fmt::format("swage-cache-test-{}", ::getpid())) {
    fs::remove_all(path);
  }
  ~folder() { fs::remove_all(path); }
  fs::path path;
};

std::string key(int n) {
  return fmt::format("{:032x}", n);
}

build_cache opened(const fs::path& path, uint64_t bytes = 1 << 20) {
  auto cache = build_cache::open(path, bytes);
  REQUIRE(cache);
  return std::move(*cache);
}

} // namespace

TEST_CASE("artifacts and refusals come back as kept", "[verify][cache]") {
  folder in;
  auto cache = opened(in.path);
  CHECK_FALSE(cache.find(key(1)));
  cache.keep(key(1), std::string("\0bytes", 6));
  cache.keep(key(2),
             tl::unexpected(rejection{category::compile_link, "undefined: f"}));
  auto again = opened(in.path);
  auto first = again.find(key(1));
  REQUIRE(first);
  REQUIRE(*first);
  CHECK(**first == std::string("\0bytes", 6));
  auto second = again.find(key(2));
  REQUIRE(second);
  REQUIRE_FALSE(*second);
  CHECK(second->error().kind == category::compile_link);
  CHECK(second->error().detail == "undefined: f");
}

TEST_CASE("a damaged entry is dropped, not believed", "[verify][cache]") {
  folder in;
  auto cache = opened(in.path);
  cache.keep(key(1), std::string(100, 'a'));
  auto path = in.path / "00" / key(1);
  SECTION("a changed byte") {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(60);
    file << 'b';
  }
  SECTION("a missing end") {
    fs::resize_file(path, 70);
  }
  SECTION("nothing at all") {
    fs::resize_file(path, 0);
  }
  CHECK_FALSE(cache.find(key(1)));
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("the entries used longest ago make room", "[verify][cache]") {
  folder in;
  auto cache = opened(in.path, 10'000);
  auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 20; ++i) {
    cache.keep(key(i), std::string(1000, 'a'));
    fs::last_write_time(in.path / "00" / key(i),
                        now - std::chrono::minutes(20 - i));
  }
  REQUIRE(cache.find(key(3))); // Used again, so it stays.
  cache.sweep();
  CHECK(cache.find(key(3)));
  CHECK(cache.find(key(19)));
  CHECK_FALSE(cache.find(key(0)));
  CHECK_FALSE(cache.find(key(4)));
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator{in.path})
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  CHECK(bytes <= 8'000);
}

TEST_CASE("what a killed writer left is removed", "[verify][cache]") {
  folder in;
  auto cache = opened(in.path);
  cache.keep(key(1), std::string("a"));
  auto torn = in.path / "00" / (key(2) + ".123-1");
  auto fresh = in.path / "00" / (key(3) + ".124-1");
  std::ofstream{torn} << "half";
  std::ofstream{fresh} << "being written";
  fs::last_write_time(torn,
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  auto again = opened(in.path);
  CHECK_FALSE(fs::exists(torn));
  CHECK(fs::exists(fresh));
  CHECK(again.find(key(1)));
}
