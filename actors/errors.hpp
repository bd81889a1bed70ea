#pragma once

#include "runtime/error.hpp"

#include <caf/error.hpp>
#include <caf/is_error_code_enum.hpp>

#include <cstdint>
#include <string>

namespace swage {

std::string to_string(ec code);
bool from_string(const std::string& text, ec& code);

/// False and `code` unchanged if there is no such code.
bool from_integer(uint8_t value, ec& code);

template <class Inspector>
bool inspect(Inspector& f, ec& code) {
  if (f.has_human_readable_format()) {
    auto get = [&code] { return to_string(code); };
    auto set = [&code](const std::string& text) {
      return from_string(text, code);
    };
    return f.apply(get, set);
  }
  auto get = [&code] { return static_cast<uint8_t>(code); };
  auto set = [&code](uint8_t value) { return from_integer(value, code); };
  return f.apply(get, set);
}

/// An expected failure as it travels: code and message are kept.
caf::error to_caf(const error& reason);

/// What a request came back with. An error of CAF's own becomes `timeout`
/// (nobody answered in time) or `infra` (the peer is gone or refused).
error from_caf(const caf::error& reason);

} // namespace swage
