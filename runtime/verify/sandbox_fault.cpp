#include "runtime/verify/sandbox_inside.hpp"

#include <cxxabi.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <typeinfo>

namespace swage::inside {

bool in_call = false;

namespace {

control::page* shared_page = nullptr;
const cases* mapped = nullptr;

// Of the fault handlers, since a fault may be a stack that is full.
alignas(64) char handler_stack[64 * 1024];

constexpr uint64_t null_bytes = 64 * 1024;
constexpr int64_t near_bytes = 1 << 20;

// The first of several threads writes the record, the others wait to be ended.
void claim(control::page* page) {
  if (page->failed.claimed.exchange(1) != 0)
    for (;;)
      ::pause();
}

void publish(control::page* page, control::cause why) {
  page->failed.why.store(static_cast<uint32_t>(why), std::memory_order_release);
  ring(page);
}

// Bytes between the address and a tensor; 0 inside it.
int64_t distance(uint64_t address, uint64_t start, uint64_t bytes) {
  if (address < start)
    return static_cast<int64_t>(start - address);
  return address < start + bytes
           ? 0
           : static_cast<int64_t>(address - start - bytes) + 1;
}

void find_tensor(uint64_t address, control::fault& record) {
  record.tensor = control::no_tensor;
  if (mapped == nullptr || mapped->regions == nullptr)
    return;
  auto best = near_bytes;
  for (uint32_t which = 0; which < mapped->job.cases; ++which)
    for (uint32_t i = 0; i < mapped->job.tensors; ++i) {
      auto start = reinterpret_cast<uint64_t>(mapped->start(which, i));
      auto away = distance(address, start, mapped->tensors[i].bytes);
      if (away < best) {
        best = away;
        record.tensor = i;
        record.which = which;
        record.offset = static_cast<int64_t>(address - start);
      }
    }
}

// The registers say whether the access was a write and where the stack was.
void read_registers(const void* context, uint64_t address,
                    control::fault& record) {
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(context)
                            ->uc_mcontext.gregs;
  record.write = (registers[REG_ERR] & 2) != 0 ? 1 : 0;
  auto stack = static_cast<uint64_t>(registers[REG_RSP]);
  auto away = static_cast<int64_t>(address - stack);
  record.stack = away > -int64_t{256 * 1024} && away < 4096 ? 1 : 0;
#else
  record.write = 0;
  record.stack = 0;
  static_cast<void>(context);
  static_cast<void>(address);
#endif
}

bool memory_is_exhausted() {
  constexpr size_t probe = 16 << 20;
  auto* memory = ::mmap(nullptr, probe, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
  return memory == MAP_FAILED;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  auto* page = shared_page;
  claim(page);
  auto& record = page->failed;
  record.signal = signal;
  record.code = info->si_code;
  auto why = control::cause::signal;
  if (signal == SIGSYS) {
    record.syscall = info->si_syscall;
    why = control::cause::system_call;
  } else if (signal == SIGSEGV || signal == SIGBUS) {
    record.address = reinterpret_cast<uint64_t>(info->si_addr);
    read_registers(context, record.address, record);
    find_tensor(record.address, record);
    // What malloc could not give is a null pointer soon after.
    if (record.address < null_bytes && memory_is_exhausted())
      why = control::cause::out_of_memory;
  }
  publish(page, why);
  ::_exit(128 + signal);
}

void on_exit_inside() {
  if (in_call)
    give_up(shared_page, control::cause::exited, "", 0);
}

[[noreturn]] void on_terminate() {
  give_up_on_exception(shared_page);
}

void copy_message(char* to, const char* text) {
  std::snprintf(to, control::message_bytes, "%s", text);
}

} // namespace

void ring(control::page* page) {
  page->bell.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &page->bell, FUTEX_WAKE, std::numeric_limits<int>::max(),
            nullptr, nullptr, 0);
}

void sleep_while(const void* word, uint32_t value) {
  ::syscall(SYS_futex, word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

void give_up(control::page* page, control::cause why, const char* message,
             int status) {
  claim(page);
  copy_message(page->failed.message, message);
  publish(page, why);
  ::_exit(status);
}

void give_up_on_exception(control::page* page) {
  char text[control::message_bytes];
  text[0] = '\0';
  auto why = control::cause::exception;
  if (auto* type = abi::__cxa_current_exception_type()) {
    int status = 0;
    auto* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    const auto* shown = name != nullptr ? name : type->name();
    try {
      throw;
    } catch (const std::bad_alloc&) {
      why = control::cause::out_of_memory;
    } catch (const std::exception& what) {
      std::snprintf(text, sizeof text, "%s: %s", shown, what.what());
    } catch (...) {
      copy_message(text, shown);
    }
  } else {
    copy_message(text, "std::terminate");
  }
  give_up(page, why, text, 1);
}

void watch_faults(control::page* page, const cases* data) {
  shared_page = page;
  mapped = data;
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT, SIGXCPU})
    ::sigaction(signal, &action, nullptr);
  std::set_terminate(on_terminate);
  std::atexit(on_exit_inside);
  ::at_quick_exit(on_exit_inside);
}

} // namespace swage::inside
