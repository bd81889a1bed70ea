#include "runtime/observe/event_file.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

using namespace swage;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

template <class T>
T take(std::string_view& from) {
  T value;
  REQUIRE(from.size() >= sizeof(value));
  std::memcpy(&value, from.data(), sizeof(value));
  from.remove_prefix(sizeof(value));
  return value;
}

uint64_t take_varint(std::string_view& from) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    auto byte = take<uint8_t>(from);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80)
      return value;
  }
}

/// Payloads of a TFRecord file, checksums checked.
std::vector<std::string> records(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::string file{std::istreambuf_iterator<char>{in}, {}};
  std::string_view rest = file;
  std::vector<std::string> found;
  while (!rest.empty()) {
    auto head = rest.substr(0, 8);
    auto length = take<uint64_t>(rest);
    CHECK(take<uint32_t>(rest) == masked_crc32c(bytes_of(head)));
    auto payload = rest.substr(0, length);
    REQUIRE(payload.size() == length);
    rest.remove_prefix(length);
    CHECK(take<uint32_t>(rest) == masked_crc32c(bytes_of(payload)));
    found.emplace_back(payload);
  }
  return found;
}

/// Fields of a protocol buffer, by number; numbers as their raw bytes.
struct message {
  std::vector<std::pair<uint64_t, std::string>> fields;

  explicit message(std::string_view bytes) {
    while (!bytes.empty()) {
      auto key = take_varint(bytes);
      size_t length = key % 8 == 1 ? 8 : 4;
      if (key % 8 == 0) {
        fields.emplace_back(key / 8, std::to_string(take_varint(bytes)));
        continue;
      }
      if (key % 8 == 2)
        length = take_varint(bytes);
      REQUIRE(bytes.size() >= length);
      fields.emplace_back(key / 8, std::string{bytes.substr(0, length)});
      bytes.remove_prefix(length);
    }
  }

  std::string field(uint64_t number) const {
    for (auto& [key, value] : fields)
      if (key == number)
        return value;
    return "missing";
  }
};

template <class T>
T as(std::string_view bytes) {
  return take<T>(bytes);
}

struct folder_guard {
  std::filesystem::path path = std::filesystem::temp_directory_path()
                               / ("swage-events-" + std::to_string(::getpid()));
  ~folder_guard() { std::filesystem::remove_all(path); }
};

} // namespace

TEST_CASE("the checksum is that of the standard", "[runtime][observe]") {
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283u);
  CHECK(crc32c(bytes_of(std::string(32, '\0'))) == 0x8a9136aau);
  CHECK(crc32c(bytes_of(std::string(32, '\xff'))) == 0x62a8ab43u);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("scalars are read back from the file", "[runtime][observe]") {
  folder_guard folder;
  auto file = event_file::create(folder.path / "metrics", 1700000000.5);
  REQUIRE(file.has_value());
  scalar scalars[] = {{"learner/loss", 0.25}, {"staleness/mean", -1.5}};
  REQUIRE(file->write(300, 1700000001.5, scalars));
  auto found = records(file->path());
  REQUIRE(found.size() == 2);
  message head{found[0]}, event{found[1]};
  CHECK(head.field(3) == "brain.Event:2");
  CHECK(as<double>(head.field(1)) == 1700000000.5);
  CHECK(as<double>(event.field(1)) == 1700000001.5);
  CHECK(event.field(2) == "300");
  message summary{event.field(5)};
  REQUIRE(summary.fields.size() == 2);
  message first{summary.fields[0].second}, second{summary.fields[1].second};
  CHECK(first.field(1) == "learner/loss");
  CHECK(as<float>(first.field(2)) == 0.25f);
  CHECK(second.field(1) == "staleness/mean");
  CHECK(as<float>(second.field(2)) == -1.5f);
}

TEST_CASE("a resumed run adds a file of its own", "[runtime][observe]") {
  folder_guard folder;
  auto first = event_file::create(folder.path, 5);
  auto second = event_file::create(folder.path, 5);
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(first->path() != second->path());
  CHECK(first->path().filename().string().find("tfevents")
        != std::string::npos);
}

TEST_CASE("a folder that cannot be made is an error", "[runtime][observe]") {
  auto file = event_file::create("/proc/swage-metrics", 5);
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().code == ec::io);
}

TEST_CASE("TensorBoard itself reads the file back", "[runtime][observe]") {
  auto* python = std::getenv("SWAGE_PYTHON");
  if (!python
      || std::system((std::string{python}
                      + " -c 'import tensorboard' 2>"
                        "/dev/null")
                       .c_str())
           != 0)
    SKIP("tensorboard is not installed");
  folder_guard folder;
  auto file = event_file::create(folder.path, 5);
  REQUIRE(file.has_value());
  scalar scalars[] = {{"a/b", 0.25}};
  REQUIRE(file->write(7, 6, scalars));
  auto script = std::string{python}
                + " -c 'import sys; from tensorboard.backend.event_processing."
                  "event_accumulator import EventAccumulator as E; e = "
                  "E(sys.argv[1]); e.Reload(); s = e.Scalars(\"a/b\"); "
                  "assert s[0].step == 7 and s[0].value == 0.25' "
                + folder.path.string();
  CHECK(std::system(script.c_str()) == 0);
}
