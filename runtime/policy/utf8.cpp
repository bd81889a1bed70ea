#include "runtime/policy/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace swage {

namespace {

/// What stands at the front of a text.
struct character {
  size_t length = 0; ///< Of a whole character, or of its ill-formed part.
  bool valid = false;
};

character front(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto first = byte(0);
  if (first < 0x80)
    return {1, true};
  if (first < 0xC2 || first > 0xF4)
    return {1, false};
  size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what lies
  // past the last code point.
  uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size() || byte(i) < low || byte(i) > high)
      return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

} // namespace

std::string repaired_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto next = front(text);
    out += next.valid ? text.substr(0, next.length) : "\xEF\xBF\xBD";
    text.remove_prefix(next.length);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    auto next = front(text);
    if (!next.valid)
      return false;
    text.remove_prefix(next.length);
  }
  return true;
}

} // namespace swage
