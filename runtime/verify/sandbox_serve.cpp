#include "runtime/verify/sandbox.hpp"
#include "runtime/verify/sandbox_inside.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace swage::inside {

namespace {

using kernel = void (*)(void** tensors, const int64_t* sizes);

cases data;

[[noreturn]] void fail_setup(control::page* page, const char* step) {
  char text[control::message_bytes];
  std::snprintf(text, sizeof text, "%s: %s", step, std::strerror(errno));
  give_up(page, control::cause::setup, text, 1);
}

// In an empty root the artifact becomes a file, since there is no /proc to
// open a descriptor through.
bool name_artifact(int fd, char* path, size_t bytes) {
  if (!own_root) {
    std::snprintf(path, bytes, "/proc/self/fd/%d", fd);
    return true;
  }
  std::snprintf(path, bytes, "/tmp/%d.so", static_cast<int>(::getpid()));
  struct stat what {};
  int file = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
  if (file < 0 || ::fstat(fd, &what) != 0)
    return false;
  off_t offset = 0;
  bool ok = true;
  while (ok && offset < what.st_size)
    ok = ::sendfile(file, fd, &offset,
                    static_cast<size_t>(what.st_size - offset))
         > 0;
  ::close(file);
  return ok;
}

kernel load(control::page* page, const char* path) {
  auto* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto* symbol = library != nullptr ? ::dlsym(library, "swage_call") : nullptr;
  if (symbol == nullptr) {
    const auto* reason = ::dlerror();
    give_up(page, control::cause::load, reason != nullptr ? reason : "", 1);
  }
  return reinterpret_cast<kernel>(symbol);
}

// A team of the size that the task allows; no spinning, which would look like
// work that goes on after the call.
void limit_threads() {
  using setter = void (*)(int);
  if (auto* symbol = ::dlsym(RTLD_DEFAULT, "omp_set_num_threads"))
    reinterpret_cast<setter>(symbol)(static_cast<int>(data.job.limit.threads));
}

// Waits for the request after `newest` and returns its number.
uint32_t next_request(control::page* page, uint32_t newest) {
  for (;;) {
    auto now = page->request.load(std::memory_order_acquire);
    if (now != newest)
      return now;
    sleep_while(&page->request, newest);
  }
}

void finish(control::page* page, uint32_t number) {
  page->done.store(number, std::memory_order_release);
  ring(page);
}

// Says that the process is prepared, before any foreign code runs in it, and
// waits to be told to load that.
uint32_t await_load(control::page* page) {
  finish(page, 1);
  return next_request(page, 1);
}

// Where a stack happens to lie can slow a loop that spills by a factor of two or
// three, for as long as the process lives. So each call gets another depth: of
// many calls, few are slow.
template <class Function>
[[gnu::noinline]] void call_at_depth(uint32_t number, Function call) {
  constexpr uint32_t depths = 16, step = 4096 + 64;
  auto* unused = static_cast<volatile char*>(
    __builtin_alloca(1 + number % depths * step));
  *unused = 0;
  call();
}

template <class Function>
[[noreturn]] void answer_requests(control::page* page, uint32_t newest,
                                  Function function) {
  void* arguments[cases::max_tensors + 1] = {};
  // Their pages are there before anything is timed.
  for (uint32_t depth = 0; depth < 16; ++depth)
    call_at_depth(depth, [] {});
  uint32_t calls = 0;
  finish(page, newest);
  for (;;) {
    newest = next_request(page, newest);
    auto kind = page->kind.load(std::memory_order_relaxed);
    if (kind == static_cast<uint32_t>(control::request_kind::call)) {
      auto which = page->which.load(std::memory_order_relaxed);
      if (which >= data.job.cases)
        give_up(page, control::cause::setup, "there is no such case", 1);
      for (uint32_t i = 0; i < data.job.tensors; ++i)
        arguments[i] = data.start(which, i);
      in_call = true;
      call_at_depth(calls++, [&] { function(which, arguments); });
      in_call = false;
    }
    finish(page, newest);
  }
}

control::page* open_job(const job_files& files) {
  auto* page = map_page(files.control);
  if (page == nullptr)
    ::_exit(3);
  if (const auto* step = map_cases(files, data))
    fail_setup(page, step);
  return page;
}

} // namespace

} // namespace swage::inside

extern "C" int swage_sandbox_prepare(void) {
  // By the names that an artifact asks for, so that its loading finds them
  // loaded; a missing one is no error, an artifact may do without.
  for (const auto* name : {"libgomp.so.1", "libmvec.so.1", "libm.so.6",
                           "libstdc++.so.6", "libgcc_s.so.1"})
    ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  swage::inside::note_memory();
  return swage::inside::prepare_filter() ? 0 : -1;
}

extern "C" void swage_sandbox_serve(int artifact, int inputs, int data_fd,
                                    int control) {
  using namespace swage::inside;
  auto* page = open_job({inputs, data_fd, control});
  char path[64];
  if (!name_artifact(artifact, path, sizeof path))
    fail_setup(page, "cannot place the artifact");
  limit_threads();
  watch_faults(page, &data);
  if (own_root)
    ::close(artifact);
  for (int fd : {inputs, data_fd, control})
    ::close(fd);
  const auto& limit = data.job.limit;
  if (swage_sandbox_enter(limit.memory_bytes, limit.cpu_s) != 0)
    fail_setup(page, "cannot confine the process");
  auto newest = await_load(page);
  in_call = true;
  auto function = load(page, path);
  in_call = false;
  if (!own_root)
    ::close(artifact);
  answer_requests(page, newest, [page, function](uint32_t, void** arguments) {
    try {
      function(arguments, data.sizes);
    } catch (...) {
      give_up_on_exception(page);
    }
  });
}

extern "C" void swage_sandbox_serve_function(swage_sandbox_function function,
                                             int data_fd, int control) {
  using namespace swage::inside;
  auto* page = open_job({data_fd, data_fd, control});
  ::close(data_fd);
  ::close(control);
  auto newest = await_load(page);
  answer_requests(page, newest,
                  [page, function](uint32_t which, void** arguments) {
                    if (function(which, arguments, data.sizes) != 0)
                      give_up(page, swage::control::cause::exception,
                              "the function failed", 1);
                  });
}
