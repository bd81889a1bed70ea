#include "runtime/observe/event_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace swage {

namespace {

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> rows{};
  for (uint32_t i = 0; i < rows.size(); ++i) {
    auto crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    rows[i] = crc;
  }
  return rows;
}();

template <class T>
void put_raw(std::string& to, T value) {
  static_assert(std::endian::native == std::endian::little);
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

// Wire types of protocol buffers.
constexpr uint32_t varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5;

void put_key(std::string& to, uint32_t field, uint32_t wire_type) {
  put_varint(to, field << 3 | wire_type);
}

void put_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  put_key(to, field, length_delimited);
  put_varint(to, bytes.size());
  to += bytes;
}

/// `Event`: wall_time = 1 (double), step = 2, file_version = 3, summary = 5.
std::string event_head(double wall_time, uint64_t step) {
  std::string event;
  put_key(event, 1, fixed64);
  put_raw(event, wall_time);
  put_key(event, 2, varint);
  put_varint(event, step);
  return event;
}

/// `Summary.Value`: tag = 1, simple_value = 2 (float).
std::string summary_value(const scalar& what) {
  std::string value;
  put_bytes(value, 1, what.tag);
  put_key(value, 2, fixed32);
  put_raw(value, static_cast<float>(what.value));
  return value;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

tl::unexpected<error> io_error(const std::filesystem::path& path) {
  return fail(ec::io,
              fmt::format("cannot write metrics to {}: {}", path.string(),
                          std::generic_category().message(errno)));
}

} // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  uint32_t crc = ~0u;
  for (auto byte : bytes)
    crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

result<event_file> event_file::create(const std::filesystem::path& folder,
                                      double wall_time) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  event_file made;
  // TensorBoard orders the files of a run by name, which begins with the time.
  auto seconds = static_cast<uint64_t>(wall_time);
  for (int i = 0; !made.file_ && i < 1000; ++i) {
    made.path_ = folder
                 / fmt::format("events.out.tfevents.{:010}.swage.{}.{}",
                               seconds, ::getpid(), i);
    made.file_.reset(std::fopen(made.path_.c_str(), "wbxe"));
    if (!made.file_ && errno != EEXIST)
      break;
  }
  if (!made.file_)
    return io_error(made.path_);
  auto event = event_head(wall_time, 0);
  put_bytes(event, 3, "brain.Event:2");
  if (auto ok = made.append(event); !ok)
    return tl::unexpected{ok.error()};
  return made;
}

result<void> event_file::write(uint64_t step, double wall_time,
                               std::span<const scalar> scalars) {
  std::string summary;
  for (auto& value : scalars)
    put_bytes(summary, 1, summary_value(value));
  auto event = event_head(wall_time, step);
  put_bytes(event, 5, summary);
  return append(event);
}

/// A TFRecord: length, its checksum, the bytes, their checksum.
result<void> event_file::append(std::string_view event) {
  std::string record;
  put_raw(record, static_cast<uint64_t>(event.size()));
  put_raw(record, masked_crc32c(bytes_of(record)));
  record += event;
  put_raw(record, masked_crc32c(bytes_of(event)));
  auto written = std::fwrite(record.data(), 1, record.size(), file_.get());
  if (written != record.size() || std::fflush(file_.get()) != 0)
    return io_error(path_);
  return {};
}

} // namespace swage
