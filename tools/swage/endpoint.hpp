#pragma once

#include "runtime/error.hpp"
#include "runtime/policy/generator.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace swage {

/// An OpenAI-compatible server and one model of it.
struct endpoint_options {
  std::string url;   ///< Such as http://localhost:8000/v1.
  std::string model;
  std::string key;   ///< Sent as a bearer token; empty: none.
  uint32_t connections = 16; ///< Requests at the same time.
  double timeout_s = 600;    ///< Of one response.
  double pause_s = 1;        ///< Before a failed request is tried again.
};

/// One response to be generated; its seed is the request's own.
struct endpoint_request {
  std::string prompt;
  sampling how;
};

/// Whether the URL is one and something listens there.
result<void> check_endpoint(const endpoint_options& server);

/// Asks for all of them, `connections` at a time, and returns the texts in the
/// same order. `on_progress(done, total)` is called from one thread at a time.
/// A request that the server cannot serve now (429, 5xx, no connection) is
/// tried three times. `invalid_argument` for a URL that is none, `infra` with
/// the server's own words where it refuses.
result<std::vector<std::string>>
ask_endpoint(const endpoint_options& server,
             const std::vector<endpoint_request>& requests,
             const std::function<void(size_t, size_t)>& on_progress);

} // namespace swage
