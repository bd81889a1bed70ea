#include "runtime/store/durable_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace swage {

namespace {

/// Closes on scope exit; -1 owns nothing.
struct descriptor {
  int value = -1;
  explicit descriptor(int fd) : value(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

tl::unexpected<error> os_error(const char* what, const fs::path& path) {
  auto code = errno == ENOENT ? ec::not_found : ec::io;
  return fail(code, fmt::format("cannot {} {}: {}", what, path.string(),
                                std::strerror(errno)));
}

/// Opens a file to read it. A pipe is refused: it would be waited for.
result<void> open_file(const fs::path& path, descriptor& into) {
  into.value = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (into.value < 0)
    return os_error("open", path);
  struct stat what {};
  if (::fstat(into.value, &what) != 0)
    return os_error("look at", path);
  if (!S_ISREG(what.st_mode))
    return fail(ec::corrupt,
                fmt::format("{}: expected a file, found something else",
                            path.string()));
  return {};
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    auto n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    content.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

} // namespace

result<std::string> read_file(const fs::path& file) {
  descriptor fd{-1};
  if (auto ok = open_file(file, fd); !ok)
    return tl::unexpected{ok.error()};
  std::string out;
  char chunk[1 << 16];
  for (;;) {
    auto n = ::read(fd.value, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return os_error("read", file);
    if (n == 0)
      return out;
    out.append(chunk, static_cast<size_t>(n));
  }
}

result<void> write_durably(const fs::path& file, std::string_view content) {
  auto temporary = file;
  temporary += fmt::format(".{}.tmp", getpid());
  {
    descriptor fd{::open(temporary.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (fd.value < 0)
      return os_error("create", temporary);
    if (!write_all(fd.value, content) || ::fsync(fd.value) != 0)
      return os_error("write", temporary);
  }
  if (::rename(temporary.c_str(), file.c_str()) != 0)
    return os_error("rename", temporary);
  return sync_path(file.has_parent_path() ? file.parent_path() : ".");
}

result<void> sync_path(const fs::path& path) {
  descriptor fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.value < 0)
    return os_error("open", path);
  if (::fsync(fd.value) != 0)
    return os_error("sync", path);
  return {};
}

result<uint64_t> file_checksum(const fs::path& file) {
  descriptor fd{-1};
  if (auto ok = open_file(file, fd); !ok)
    return tl::unexpected{ok.error()};
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state{
    XXH3_createState(), XXH3_freeState};
  XXH3_64bits_reset(state.get());
  char chunk[1 << 16];
  for (;;) {
    auto n = ::read(fd.value, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return os_error("read", file);
    if (n == 0)
      return XXH3_64bits_digest(state.get());
    XXH3_64bits_update(state.get(), chunk, static_cast<size_t>(n));
  }
}

} // namespace swage
