#pragma once

#include "runtime/buffer/owner.hpp"
#include "runtime/task/task.hpp"
#include "runtime/verify/verdict.hpp"

#include <cstdint>
#include <string>

namespace swage {

/// One candidate on its way to a verifier. Its sender spent one credit on it.
struct verify_request {
  uint64_t id = 0; ///< Unique for its owner.
  owner from;
  task what;
  std::string response;
};

struct verify_reply {
  uint64_t id = 0;
  verdict outcome;
  uint32_t credit = 0; ///< Credits given back with the answer.
};

template <class Inspector>
bool inspect(Inspector& f, verify_request& x) {
  return f.object(x).fields(f.field("id", x.id), f.field("from", x.from),
                            f.field("what", x.what),
                            f.field("response", x.response));
}

template <class Inspector>
bool inspect(Inspector& f, verify_reply& x) {
  return f.object(x).fields(f.field("id", x.id),
                            f.field("outcome", x.outcome),
                            f.field("credit", x.credit));
}

} // namespace swage
