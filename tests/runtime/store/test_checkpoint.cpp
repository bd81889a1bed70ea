#include "runtime/store/checkpoint.hpp"
#include "runtime/store/durable_file.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace swage;
using Catch::Matchers::ContainsSubstring;

namespace {

struct folder {
  fs::path path = fs::temp_directory_path()
                  / ("swage-store-" + std::to_string(getpid()));
  folder() { fs::remove_all(path); }
  ~folder() { fs::remove_all(path); }
};

checkpoint_store::fill_function weights(std::string content) {
  return [content](const fs::path& directory) -> result<void> {
    return write_durably(directory / "model.bin", content);
  };
}

checkpoint_info at(uint64_t step) {
  checkpoint_info info;
  info.step = step;
  info.hash = step * 1000;
  info.stage = "sft";
  return info;
}

} // namespace

TEST_CASE("a checkpoint reads back what it says", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 3};
  auto written = store.write(at(7), weights("seven"));
  REQUIRE(written);
  CHECK(written->directory.filename() == "v000007");
  auto newest = store.newest_valid();
  REQUIRE(newest);
  CHECK(newest->step == 7);
  CHECK(newest->hash == 7000);
  CHECK(newest->stage == "sft");
  CHECK(read_file(newest->directory / "model.bin").value() == "seven");
}

TEST_CASE("who needs some files alone checks those alone", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 3};
  auto written = store.write(at(7), [](const fs::path& directory) {
    return weights("seven")(directory).and_then(
      [&] { return write_durably(directory / "optimizer.bin", "state"); });
  });
  REQUIRE(written);
  fs::remove(written->directory / "optimizer.bin");
  CHECK_FALSE(checkpoint_store::open(written->directory));
  CHECK_FALSE(store.newest_valid());
  std::string_view wanted[] = {"model.bin"};
  CHECK(checkpoint_store::open(written->directory, wanted));
  CHECK(store.newest_valid(nullptr, wanted));
  std::ofstream{written->directory / "model.bin"} << "eight";
  CHECK_FALSE(checkpoint_store::open(written->directory, wanted));
}

TEST_CASE("a manifest that is none says what one has", "[runtime][store]") {
  folder tmp;
  fs::create_directories(tmp.path);
  for (auto* text : {"", "[]", "{\"step\": \"x\"}"}) {
    std::ofstream{tmp.path / "manifest.json"} << text;
    auto opened = checkpoint_store::open(tmp.path);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ec::corrupt);
    CHECK(opened.error().message.find("manifest.json: expected a checkpoint's")
          != std::string::npos);
    CHECK(opened.error().message.find("json.exception") == std::string::npos);
  }
}

TEST_CASE("a manifest that is a pipe is not waited for", "[runtime][store]") {
  folder tmp;
  fs::create_directories(tmp.path);
  REQUIRE(::mkfifo((tmp.path / "manifest.json").c_str(), 0600) == 0);
  auto opened = checkpoint_store::open(tmp.path);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::corrupt);
}

TEST_CASE("only the newest checkpoints are kept", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 2};
  for (uint64_t step : {9, 10, 11, 12})
    REQUIRE(store.write(at(step), weights("w")));
  auto all = store.list();
  REQUIRE(all.size() == 2);
  CHECK(all[0].filename() == "v000011");
  CHECK(all[1].filename() == "v000012");
}

TEST_CASE("the last checkpoint of each stage is kept", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 1};
  for (uint64_t step : {5, 6, 7, 8, 9}) {
    auto info = at(step);
    info.stage = step < 7 ? "sft" : "rl-single";
    REQUIRE(store.write(info, weights("w")));
  }
  auto all = store.list();
  REQUIRE(all.size() == 2);
  CHECK(all[0].filename() == "v000006");
  CHECK(all[1].filename() == "v000009");
}

TEST_CASE("a damaged checkpoint is passed over by name", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 3};
  REQUIRE(store.write(at(1), weights("first")));
  auto second = store.write(at(2), weights("second"));
  REQUIRE(second);
  SECTION("other bytes of the same size") {
    std::ofstream{second->directory / "model.bin"} << "SECOND";
  }
  SECTION("a file that was cut") {
    fs::resize_file(second->directory / "model.bin", 2);
  }
  SECTION("a file that is gone") {
    fs::remove(second->directory / "model.bin");
  }
  SECTION("a manifest that is no JSON") {
    std::ofstream{second->directory / "manifest.json"} << "{";
  }
  std::vector<std::string> rejected;
  auto newest = store.newest_valid(&rejected);
  REQUIRE(newest);
  CHECK(newest->step == 1);
  REQUIRE(rejected.size() == 1);
  CHECK_THAT(rejected[0], ContainsSubstring("v000002"));
}

TEST_CASE("a failed write leaves no checkpoint behind", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 3};
  auto written = store.write(at(1), [](auto&) -> result<void> {
    return fail(ec::io, "disk full");
  });
  REQUIRE_FALSE(written);
  CHECK(written.error().message == "disk full");
  CHECK(store.list().empty());
  CHECK(fs::is_empty(tmp.path));
}

TEST_CASE("steps are ordered by number past six digits", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 3};
  REQUIRE(store.write(at(999999), weights("a")));
  REQUIRE(store.write(at(1000000), weights("b")));
  CHECK(store.newest_valid()->step == 1000000);
}

TEST_CASE("what a killed process left torn is removed", "[runtime][store]") {
  folder tmp;
  checkpoint_store store{tmp.path, 2};
  REQUIRE(store.write(at(3), weights("three")));
  // Killed while it wrote step 4 and while it removed step 1.
  for (auto* name : {".v000004.17", ".v000001.old"}) {
    fs::create_directories(tmp.path / name);
    REQUIRE(write_durably(tmp.path / name / "model.bin", "half"));
  }
  std::ofstream{tmp.path / "notes"} << "not ours";
  store.remove_torn();
  CHECK(store.newest_valid()->step == 3);
  CHECK(fs::exists(tmp.path / "notes"));
  for (auto& entry : fs::directory_iterator(tmp.path))
    CHECK(entry.path().filename().string().front() != '.');
}
