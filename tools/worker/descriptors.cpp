#include "tools/worker/descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

void close_all_but(std::span<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned from = 3;
  for (int fd : kept) {
    if (fd < 3)
      continue;
    auto keep = static_cast<unsigned>(fd);
    if (keep > from)
      ::close_range(from, keep - 1, 0);
    from = keep + 1;
  }
  ::close_range(from, ~0u, 0);
}

bool silence(int fd) {
  int null = ::open("/dev/null", O_RDWR);
  if (null < 0)
    return false;
  bool ok = ::dup2(null, fd) == fd;
  if (null != fd)
    ::close(null);
  return ok;
}
