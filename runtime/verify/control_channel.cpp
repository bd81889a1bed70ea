#include "runtime/verify/control_channel.hpp"

#include "runtime/task/prototype.hpp"

#include <fmt/format.h>

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace swage {

namespace {

using steady = std::chrono::steady_clock;

// A death without a word rings no bell, so the process is looked at now and
// then; rarely, since nearly every call rings.
constexpr double first_slice_s = 0.002;
constexpr double last_slice_s = 0.02;

void append_tensors(const std::vector<tensor_slot>& slots, bool writable,
                    std::vector<control::tensor>& to) {
  for (const auto& slot : slots)
    to.push_back({slot.region_offset, slot.region_bytes, slot.offset,
                  slot.bytes, writable ? 1u : 0u, 0});
}

template <class T>
std::byte* append(std::byte* to, const T* from, size_t count) {
  if (count > 0)
    std::memcpy(to, from, count * sizeof(T));
  return to + count * sizeof(T);
}

void futex_wake(std::atomic<uint32_t>* word) {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void futex_wait(std::atomic<uint32_t>* word, uint32_t value, double seconds) {
  timespec time{static_cast<time_t>(seconds),
                static_cast<long>(std::fmod(seconds, 1.0) * 1e9)};
  ::syscall(SYS_futex, word, FUTEX_WAIT, value, &time, nullptr, 0);
}

bool has_ended(int pidfd) {
  pollfd event{pidfd, POLLIN, 0};
  return pidfd >= 0 && ::poll(&event, 1, 0) > 0;
}

} // namespace

result<control_channel> control_channel::create(const signature& args,
                                                const shared_memory& memory,
                                                const sandbox_limits& limits) {
  std::vector<control::tensor> tensors;
  append_tensors(memory.layout().inputs, false, tensors);
  append_tensors(memory.layout().state, false, tensors);
  append_tensors(memory.layout().outputs, true, tensors);
  auto sizes = size_arguments(args);
  control::job job{};
  job.magic = control::magic;
  job.version = control::version;
  job.cases = memory.cases();
  job.case_bytes = memory.layout().bytes;
  job.limit = {limits.memory_bytes, limits.cpu_s,
               static_cast<uint32_t>(std::max(1, limits.threads))};
  job.tensors = static_cast<uint32_t>(tensors.size());
  job.sizes = static_cast<uint32_t>(sizes.size());
  auto bytes = control::page_bytes + sizeof job
               + tensors.size() * sizeof(control::tensor)
               + sizes.size() * sizeof(int64_t);
  int fd = ::memfd_create("swage-control", MFD_CLOEXEC);
  if (fd < 0)
    return fail(ec::io, fmt::format("memfd_create: {}", std::strerror(errno)));
  auto* base = ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? ::mmap(
                 nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                                               : MAP_FAILED;
  if (base == MAP_FAILED) {
    auto message = fmt::format("cannot map a control file: {}",
                               std::strerror(errno));
    ::close(fd);
    return fail(ec::io, message);
  }
  auto* at = static_cast<std::byte*>(base) + control::page_bytes;
  at = append(at, &job, 1);
  at = append(at, tensors.data(), tensors.size());
  append(at, sizes.data(), sizes.size());
  control_channel channel{fd, base, bytes};
  channel.page().request.store(1, std::memory_order_release);
  return channel;
}

control_channel::control_channel(int fd, void* base, uint64_t bytes)
  : fd_(fd), base_(base), bytes_(bytes) {}

control_channel::control_channel(control_channel&& other) noexcept
  : fd_(std::exchange(other.fd_, -1)),
    base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_),
    newest_(other.newest_) {}

control_channel& control_channel::operator=(control_channel&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(newest_, other.newest_);
  return *this;
}

control_channel::~control_channel() {
  if (base_ != nullptr)
    ::munmap(base_, bytes_);
  if (fd_ >= 0)
    ::close(fd_);
}

void control_channel::post(control::request_kind kind, uint32_t which) {
  auto& shared = page();
  shared.kind.store(static_cast<uint32_t>(kind), std::memory_order_relaxed);
  shared.which.store(which, std::memory_order_relaxed);
  // The number is ours, whatever was written into the page.
  shared.request.store(++newest_, std::memory_order_release);
  futex_wake(&shared.request);
}

control_channel::news control_channel::wait(double timeout_s, int pidfd) {
  auto& shared = page();
  auto end = steady::now() + std::chrono::duration<double>(timeout_s);
  auto slice = first_slice_s;
  for (;;) {
    auto bell = shared.bell.load(std::memory_order_acquire);
    if (shared.failed.why.load(std::memory_order_acquire) != 0)
      return news::fault;
    if (shared.done.load(std::memory_order_acquire) == newest_)
      return news::done;
    if (has_ended(pidfd)) {
      // The record may have been written between the two looks.
      bool recorded = shared.failed.why.load(std::memory_order_acquire) != 0;
      return recorded ? news::fault : news::died;
    }
    auto left = std::chrono::duration<double>(end - steady::now()).count();
    if (left <= 0)
      return news::timeout;
    futex_wait(&shared.bell, bell, std::min(slice, left));
    slice = std::min(slice * 2, last_slice_s);
  }
}

} // namespace swage
