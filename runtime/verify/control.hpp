#pragma once

#include <atomic>
#include <cstdint>

/// What the trusted side and a sandbox share beside the data: a page of words
/// to call through, and behind it the job, which the sandbox reads before any
/// foreign code runs. Nothing here is trusted by the trusted side: whoever
/// scribbles over the page fakes a finished call whose outputs are then judged,
/// or its own fault. Plain data without dependencies, because the sandbox
/// includes it.
namespace swage::control {

inline constexpr uint64_t magic = 0x5357'4147'454a'4f42; // "SWAGEJOB"
inline constexpr uint32_t version = 1;
inline constexpr uint64_t page_bytes = 4096;
inline constexpr uint32_t message_bytes = 1024;

/// Why a sandbox ended.
enum class cause : uint32_t {
  none,
  signal,        ///< `signal`, `code`, `address`.
  system_call,   ///< A refused system call, `syscall`.
  exception,     ///< Uncaught; `message` is its type and what().
  out_of_memory, ///< std::bad_alloc, or a null page touched at the limit.
  exited,        ///< exit() from inside a call.
  load,          ///< dlopen refused; `message` is its reason.
  setup,         ///< Our own preparation failed; `message` says where.
};

/// What a request asks for.
enum class request_kind : uint32_t {
  prepare, ///< The implicit first request, number 1: no foreign code yet.
  load,    ///< Load the artifact; its constructors run.
  call,    ///< Call the kernel on case `which`.
  settle,  ///< Answer, which shows that the last call has returned.
};

/// No tensor is near the address.
inline constexpr uint32_t no_tensor = 0xffff'ffff;

struct fault {
  std::atomic<uint32_t> claimed; ///< The first of several threads writes.
  std::atomic<uint32_t> why;     ///< A `cause`; written last.
  int32_t signal;
  int32_t code;
  int64_t syscall;
  uint64_t address;
  uint32_t write;  ///< 1 if the faulting access was a write.
  uint32_t tensor; ///< Nearest one in argument order, or `no_tensor`.
  uint32_t which;  ///< Case of that tensor.
  uint32_t stack;  ///< 1 if the address is next to the stack pointer.
  int64_t offset;  ///< Of the address from the tensor's first byte.
  char message[message_bytes];
};

/// The first page of the control file.
struct page {
  // Written by the trusted side, each on a line of its own: a sandbox that
  // spins on one does not slow the other.
  alignas(64) std::atomic<uint32_t> request; ///< Number of the newest request.
  std::atomic<uint32_t> kind;                ///< A `request_kind`.
  std::atomic<uint32_t> which;               ///< Case of a call.
  // Written by the sandbox.
  alignas(64) std::atomic<uint32_t> done; ///< Number of the last one finished.
  std::atomic<uint32_t> bell; ///< Futex word; raised with each news.
  alignas(64) fault failed;
};
static_assert(sizeof(page) <= page_bytes);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

struct limits {
  uint64_t memory_bytes; ///< Beyond the program and the data.
  uint32_t cpu_s;        ///< CPU time of all calls; a backstop.
  uint32_t threads;      ///< Of an OpenMP team.
};

/// A tensor as the sandbox maps it.
struct tensor {
  uint64_t region_offset; ///< From the case's start.
  uint64_t region_bytes;
  uint64_t offset; ///< Of the first element, from the case's start.
  uint64_t bytes;
  uint32_t writable; ///< 1 for outputs.
  uint32_t reserved;
};

/// Begins the second page; `tensors` records follow, then `sizes` int64.
struct job {
  uint64_t magic;
  uint32_t version;
  uint32_t cases;
  uint64_t case_bytes;
  limits limit;
  uint32_t tensors;
  uint32_t sizes;
};

} // namespace swage::control
