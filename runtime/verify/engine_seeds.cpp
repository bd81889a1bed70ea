#include "runtime/verify/engine_seeds.hpp"

#include <sys/random.h>
#include <xxhash.h>

namespace swage {

secret_seeds::secret_seeds(uint64_t secret) : secret_{secret} {
  while (secret_ == 0)
    if (::getrandom(&secret_, sizeof secret_, 0) != sizeof secret_)
      secret_ = 0;
}

uint64_t secret_seeds::next() {
  ++drawn_;
  return XXH3_64bits_withSeed(&drawn_, sizeof drawn_, secret_);
}

} // namespace swage
