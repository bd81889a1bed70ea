#pragma once

#include <cstdint>

namespace swage {

/// Seeds that a candidate cannot guess: one 64-bit secret, and a counter.
class secret_seeds {
public:
  /// 0: the secret comes from the operating system.
  explicit secret_seeds(uint64_t secret);

  uint64_t secret() const { return secret_; }
  uint64_t next();

private:
  uint64_t secret_ = 0;
  uint64_t drawn_ = 0;
};

} // namespace swage
