#include "runtime/verify/shared_memory.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace swage {

namespace {

// A NaN as float32 and float64, so that reading past an end shows.
constexpr std::array<std::byte, 4> canary = {std::byte{0xf1}, std::byte{0xa3},
                                             std::byte{0xc5}, std::byte{0xff}};

std::byte canary_at(uint64_t position) {
  return canary[position % canary.size()];
}

const std::vector<tensor_slot>& list_of(const case_layout& layout,
                                        argument_kind kind) {
  switch (kind) {
  case argument_kind::input:
    return layout.inputs;
  case argument_kind::state:
    return layout.state;
  case argument_kind::output:
    break;
  }
  return layout.outputs;
}

constexpr std::array kinds = {argument_kind::input, argument_kind::state,
                              argument_kind::output};

result<int> sealed_memfd(uint64_t bytes) {
  int fd = ::memfd_create("swage-cases", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return fail(ec::io, fmt::format("memfd_create: {}", std::strerror(errno)));
  // Sealed, since a candidate that shrank the file would kill its judge.
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0
      || ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
           != 0) {
    auto message = fmt::format("cannot size a memfd of {} bytes: {}", bytes,
                               std::strerror(errno));
    ::close(fd);
    return fail(ec::io, message);
  }
  return fd;
}

// A second description of a file in memory, which has no other name.
result<int> reopen_read_only(int fd) {
  auto name = fmt::format("/proc/self/fd/{}", fd);
  int reader = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (reader < 0)
    return fail(ec::io, fmt::format("cannot open '{}' for reading: {}", name,
                                    std::strerror(errno)));
  return reader;
}

} // namespace

const char* to_string(argument_kind kind) {
  switch (kind) {
  case argument_kind::input:
    return "input";
  case argument_kind::state:
    return "state";
  case argument_kind::output:
    break;
  }
  return "output";
}

result<shared_memory> shared_memory::create(const case_layout& layout,
                                            uint32_t cases) {
  auto page = ::sysconf(_SC_PAGESIZE);
  if (page <= 0 || static_cast<uint64_t>(page) > layout_page_bytes)
    return fail(ec::unsupported,
                fmt::format("expected pages of at most {} bytes, this system "
                            "has {}",
                            layout_page_bytes, page));
  if (cases == 0)
    return fail(ec::invalid_argument, "expected at least one case, found 0");
  auto bytes = layout.bytes * cases;
  auto fd = sealed_memfd(bytes);
  if (!fd)
    return tl::unexpected(fd.error());
  auto reader = reopen_read_only(*fd);
  if (!reader) {
    ::close(*fd);
    return tl::unexpected(reader.error());
  }
  auto* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd,
                      0);
  if (base == MAP_FAILED) {
    auto message = fmt::format("cannot map {} bytes: {}", bytes,
                               std::strerror(errno));
    ::close(*fd);
    ::close(*reader);
    return fail(ec::io, message);
  }
  shared_memory memory{layout, cases, {*fd, *reader},
                       static_cast<std::byte*>(base)};
  for (uint32_t i = 0; i < cases; ++i)
    memory.reset_canaries(i);
  return memory;
}

shared_memory::shared_memory(case_layout layout, uint32_t cases, files both,
                             std::byte* base)
  : layout_(std::move(layout)), cases_(cases), fd_(both.fd),
    read_only_fd_(both.read_only), base_(base) {}

shared_memory::shared_memory(shared_memory&& other) noexcept
  : layout_(std::move(other.layout_)), cases_(other.cases_),
    fd_(std::exchange(other.fd_, -1)),
    read_only_fd_(std::exchange(other.read_only_fd_, -1)),
    base_(std::exchange(other.base_, nullptr)) {}

shared_memory& shared_memory::operator=(shared_memory&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(cases_, other.cases_);
  std::swap(fd_, other.fd_);
  std::swap(read_only_fd_, other.read_only_fd_);
  std::swap(base_, other.base_);
  return *this;
}

shared_memory::~shared_memory() {
  if (base_ != nullptr)
    ::munmap(base_, bytes());
  for (int fd : {fd_, read_only_fd_})
    if (fd >= 0)
      ::close(fd);
}

std::span<std::byte> shared_memory::tensor(uint32_t which, argument_kind kind,
                                           size_t index) {
  const auto& place = slot(kind, index);
  return {base_ + which * layout_.bytes + place.offset, place.bytes};
}

void shared_memory::poison(uint32_t which, std::byte value) {
  for (size_t i = 0; i < layout_.outputs.size(); ++i) {
    auto bytes = output(which, i);
    if (!bytes.empty())
      std::memset(bytes.data(), std::to_integer<int>(value), bytes.size());
  }
}

void shared_memory::release(uint32_t which) {
  auto* start = base_ + which * layout_.bytes;
  if (::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  start - base_, static_cast<off_t>(layout_.bytes))
      != 0)
    std::memset(start, 0, layout_.bytes);
  reset_canaries(which);
}

void shared_memory::reset_canaries(uint32_t which) {
  for (auto kind : kinds)
    for (const auto& place : list_of(layout_, kind)) {
      auto* start = base_ + which * layout_.bytes;
      auto write = [&](uint64_t from, uint64_t to) {
        for (auto i = from; i < to; ++i)
          start[i] = canary_at(i);
      };
      write(place.region_offset, place.offset);
      write(place.offset + place.bytes,
            place.region_offset + place.region_bytes);
    }
}

std::optional<canary_damage> shared_memory::damaged(uint32_t which) const {
  const auto* start = base_ + which * layout_.bytes;
  for (auto kind : kinds) {
    const auto& list = list_of(layout_, kind);
    for (size_t n = 0; n < list.size(); ++n) {
      const auto& place = list[n];
      auto end = place.offset + place.bytes;
      for (auto i = end; i < place.region_offset + place.region_bytes; ++i)
        if (start[i] != canary_at(i))
          return canary_damage{kind, n, false, i - end};
      for (auto i = place.offset; i > place.region_offset; --i)
        if (start[i - 1] != canary_at(i - 1))
          return canary_damage{kind, n, true, place.offset - i};
    }
  }
  return std::nullopt;
}

const tensor_slot& shared_memory::slot(argument_kind kind, size_t index) const {
  return list_of(layout_, kind)[index];
}

} // namespace swage
