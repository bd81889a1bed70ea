#include "actors/errors.hpp"

#include "actors/protocol.hpp"

#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>

#include <array>

namespace swage {

namespace {

constexpr std::array names = {
  "none",  "invalid_argument", "invalid_config", "not_found",   "io",
  "corrupt", "timeout",        "stale",          "fenced",      "journal_full",
  "unsupported", "infra",      "task_invalid",   "cancelled"};

static_assert(names.size() == static_cast<size_t>(ec::cancelled) + 1);

} // namespace

std::string to_string(ec code) {
  return names[static_cast<size_t>(code)];
}

bool from_string(const std::string& text, ec& code) {
  for (size_t i = 0; i < names.size(); ++i)
    if (text == names[i]) {
      code = static_cast<ec>(i);
      return true;
    }
  return false;
}

bool from_integer(uint8_t value, ec& code) {
  if (value >= names.size())
    return false;
  code = static_cast<ec>(value);
  return true;
}

caf::error to_caf(const error& reason) {
  return caf::make_error(reason.code, reason.message);
}

error from_caf(const caf::error& reason) {
  // What ends as it should has no reason.
  if (reason.empty())
    return {ec::infra, "the peer has ended"};
  if (reason.category() == caf::type_id_v<ec>) {
    error result{static_cast<ec>(reason.code()), {}};
    auto& context = reason.context();
    if (context.match_element<std::string>(0))
      result.message = context.get_as<std::string>(0);
    return result;
  }
  if (reason == caf::sec::request_timeout)
    return {ec::timeout, "no answer within the request's deadline"};
  return {ec::infra, "the peer did not answer: " + to_string(reason)};
}

} // namespace swage
