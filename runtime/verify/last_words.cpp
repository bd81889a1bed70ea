#include "runtime/verify/last_words.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace swage {

namespace {

constexpr off_t most_bytes = 1 << 20;
constexpr off_t told_bytes = 240;

off_t size_of(int fd) {
  struct stat what {};
  return fd >= 0 && ::fstat(fd, &what) == 0 ? what.st_size : 0;
}

} // namespace

last_words::last_words() : file_(::memfd_create("swage-words", MFD_CLOEXEC)) {
  // The child writes behind what is there, also after a `trim`.
  if (file_)
    ::fcntl(fd(), F_SETFL, O_APPEND);
}

std::string last_words::lines() const {
  auto size = size_of(fd());
  auto count = std::min(size, told_bytes);
  std::string out(static_cast<size_t>(count), '\0');
  if (count == 0 || ::pread(fd(), out.data(), out.size(), size - count) != count)
    return {};
  // A piece of a line is told only where it is all there is.
  if (auto line = out.find('\n'); size > count && line + 1 < out.size())
    out.erase(0, line + 1);
  while (out.ends_with('\n'))
    out.pop_back();
  return out;
}

std::string last_words::text() const {
  auto out = lines();
  std::ranges::replace(out, '\n', ' ');
  return out;
}

std::string last_words::last_line() const {
  auto out = lines();
  auto line = out.rfind('\n');
  return line == std::string::npos ? out : out.substr(line + 1);
}

void last_words::trim() {
  if (size_of(fd()) > most_bytes)
    (void) !::ftruncate(fd(), 0);
}

} // namespace swage
