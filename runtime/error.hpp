#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace swage {

/// What kind of expected failure an `error` is.
enum class ec : uint8_t {
  none,
  invalid_argument, ///< A caller's or user's value is not usable.
  invalid_config,   ///< A configuration file is wrong; the message names the line.
  not_found,        ///< A file, task or version does not exist.
  io,               ///< The operating system refused.
  corrupt,          ///< Stored bytes do not match their checksum or format.
  timeout,          ///< A deadline passed.
  stale,            ///< Data is older than its bound.
  fenced,           ///< The asker's epoch has been replaced.
  journal_full,     ///< The journal cannot be written; nothing was granted.
  unsupported,      ///< Known, and not built here.
  infra,            ///< Our side failed; retry elsewhere.
  task_invalid,     ///< The task itself cannot be judged.
  cancelled,        ///< Stopped on request.
};

/// An expected failure: what was expected, what was found, where, what to do.
struct error {
  ec code = ec::none;
  std::string message;
};

template <class T>
using result = tl::expected<T, error>;

/// Makes the failed alternative of any `result<T>`.
inline tl::unexpected<error> fail(ec code, std::string message) {
  return tl::unexpected<error>(error{code, std::move(message)});
}

/// Exit status of a program that ends with such an error: 2 where what a person
/// gave it cannot be used, else 3.
constexpr int exit_status(ec code) {
  switch (code) {
    case ec::invalid_argument:
    case ec::invalid_config:
    case ec::not_found:
    case ec::corrupt: // A file that was given.
    case ec::task_invalid:
    case ec::unsupported:
      return 2;
    default:
      return 3;
  }
}

} // namespace swage
