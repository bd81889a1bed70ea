#include "runtime/policy/mapped_file.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace swage {

namespace {

namespace fs = std::filesystem;

/// Owns a file descriptor.
class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int fd() const { return fd_; }

private:
  int fd_;
};

tl::unexpected<error> system_error(const char* what, const fs::path& path) {
  int code = errno;
  return fail(code == ENOENT ? ec::not_found : ec::io,
              fmt::format("cannot {} '{}': {}", what, path.string(),
                          std::strerror(code)));
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    auto count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

result<void> write_and_sync(const fs::path& path,
                            std::span<const std::span<const std::byte>> parts) {
  descriptor file{
    ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (file.fd() < 0)
    return system_error("create", path);
  for (auto part : parts)
    if (!write_all(file.fd(), part))
      return system_error("write", path);
  if (::fsync(file.fd()) != 0)
    return system_error("sync", path);
  return {};
}

} // namespace

result<std::shared_ptr<const mapped_file>>
mapped_file::open(const fs::path& path) {
  descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info = {};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0)
    return system_error("open", path);
  if (!S_ISREG(info.st_mode))
    return fail(ec::invalid_argument,
                fmt::format("'{}' is not a regular file", path.string()));
  auto size = static_cast<size_t>(info.st_size);
  if (size == 0)
    return std::shared_ptr<const mapped_file>{new mapped_file{{}}};
  auto* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  if (start == MAP_FAILED)
    return system_error("map", path);
  return std::shared_ptr<const mapped_file>{
    new mapped_file{{static_cast<const std::byte*>(start), size}}};
}

mapped_file::~mapped_file() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

result<std::string> read_text(const fs::path& path) {
  auto file = mapped_file::open(path);
  if (!file)
    return tl::unexpected<error>(file.error());
  auto bytes = (*file)->bytes();
  return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

result<void> write_whole(const fs::path& path,
                         std::span<const std::span<const std::byte>> parts) {
  auto temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  if (auto written = write_and_sync(temporary, parts); !written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto failure = system_error("rename to", path);
    ::unlink(temporary.c_str());
    return failure;
  }
  auto parent = path.parent_path().empty() ? fs::path{"."} : path.parent_path();
  descriptor folder{::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd() < 0 || ::fsync(folder.fd()) != 0)
    return system_error("sync the folder", parent);
  return {};
}

} // namespace swage
