#include "runtime/task/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace swage {

namespace fs = std::filesystem;

namespace {

std::string_view name_of(fs::file_type type) {
  switch (type) {
  case fs::file_type::not_found:
    return "nothing";
  case fs::file_type::directory:
    return "a folder";
  case fs::file_type::fifo:
    return "a pipe";
  case fs::file_type::socket:
    return "a socket";
  default:
    return "something else";
  }
}

} // namespace

result<std::string> read_text_file(const fs::path& file, std::string_view what,
                                   size_t max_bytes) {
  std::error_code failed;
  auto type = fs::status(file, failed).type();
  if (type != fs::file_type::regular)
    return fail(type == fs::file_type::not_found ? ec::not_found
                                                 : ec::invalid_argument,
                fmt::format("{}: expected {}, a file; found {}", file.string(),
                            what, name_of(type)));
  if (auto size = fs::file_size(file, failed); !failed && size > max_bytes)
    return fail(ec::invalid_argument,
                fmt::format("{}: expected {} of at most {} bytes, found {}",
                            file.string(), what, max_bytes, size));
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in)
    return fail(ec::invalid_argument,
                fmt::format("{}: cannot be read: {}", file.string(),
                            std::strerror(errno)));
  drop_byte_order_mark(text);
  return text;
}

void drop_byte_order_mark(std::string& text) {
  if (text.starts_with("\xef\xbb\xbf"))
    text.erase(0, 3);
}

size_t utf8_character(std::string_view text, size_t i) {
  auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  auto lead = at(i);
  size_t size = lead < 0x80                   ? 1
                : lead >= 0xc2 && lead < 0xe0 ? 2
                : lead >= 0xe0 && lead < 0xf0 ? 3
                : lead >= 0xf0 && lead < 0xf5 ? 4
                                              : 0;
  if (size == 0 || i + size > text.size())
    return 0;
  for (size_t k = 1; k < size; ++k)
    if ((at(i + k) & 0xc0) != 0x80)
      return 0;
  auto second = size > 1 ? at(i + 1) : 0;
  bool overlong = (lead == 0xe0 && second < 0xa0)
                  || (lead == 0xf0 && second < 0x90);
  bool beyond = (lead == 0xed && second > 0x9f)
                || (lead == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : size;
}

} // namespace swage
