#include "runtime/verify/control_channel.hpp"

#include <fmt/format.h>
#include <seccomp.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace swage {

namespace {

struct place {
  const char* list;
  size_t index;
  const tensor_spec* tensor;
};

// The n-th tensor in argument order.
place find(const signature& args, size_t n) {
  if (n < args.inputs.size())
    return {"input", n, &args.inputs[n]};
  n -= args.inputs.size();
  if (n < args.state.size())
    return {"state", n, &args.state[n]};
  n -= args.state.size();
  if (n < args.outputs.size())
    return {"output", n, &args.outputs[n]};
  return {"tensor", n, nullptr};
}

// Printable ASCII only, and only so much: it is the candidate's own claim.
std::string printable(const char* text, size_t limit) {
  std::string shown;
  for (size_t i = 0; i < limit && text[i] != '\0'; ++i)
    shown += text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  return shown;
}

std::string where(const control::fault& record, const signature& args,
                  bool& inside_constant) {
  auto found = find(args, record.tensor);
  if (record.tensor == control::no_tensor || found.tensor == nullptr)
    return fmt::format("at address {:#x}, which belongs to no argument",
                       record.address);
  auto bytes = static_cast<int64_t>(storage_bytes(*found.tensor));
  auto name = fmt::format("{} {} ({})", found.list, found.index,
                          found.tensor->name);
  auto place = fmt::format("at byte offset {} of {}", record.offset, name);
  if (record.offset < 0)
    return place + ", before its begin";
  if (record.offset >= bytes)
    return fmt::format("{}, past its end: it has {} bytes", place, bytes);
  inside_constant = std::strcmp(found.list, "output") != 0;
  return place;
}

rejection bad_access(const control::fault& record, const signature& args) {
  if (record.stack != 0)
    return {category::runtime_illegal_access,
            "the stack overflowed (arrays on it are too large, or the "
            "recursion too deep)"};
  // The processor tells neither the address nor whether it was written to.
  if (record.code == SI_KERNEL)
    return {category::runtime_illegal_access,
            "accessed an address that no process can have, or one that is not "
            "aligned as the instruction wants it"};
  const auto* verb = record.write != 0 ? "wrote" : "read";
  if (record.address < 65536)
    return {category::runtime_illegal_access,
            fmt::format("{} through a null or invalid pointer (address {:#x})",
                        verb, record.address)};
  bool inside_constant = false;
  auto detail = fmt::format("{} {}", verb,
                            where(record, args, inside_constant));
  if (inside_constant && record.write != 0)
    return {category::correctness_input_changed,
            detail + ", which must not change"};
  return {category::runtime_illegal_access, detail};
}

rejection by_signal(const control::fault& record, const signature& args) {
  switch (record.signal) {
  case SIGSEGV:
  case SIGBUS:
    return bad_access(record, args);
  case SIGFPE:
    return {category::runtime_crash, record.code == FPE_INTDIV
                                       ? "integer division by zero"
                                       : "arithmetic fault (SIGFPE)"};
  case SIGILL:
    return {category::runtime_crash,
            "illegal instruction (SIGILL), such as __builtin_trap"};
  case SIGABRT:
    return {category::runtime_exception, "abort() was called"};
  case SIGXCPU:
    return {category::runtime_timeout, "used up its CPU time"};
  default:
    return {category::runtime_crash,
            fmt::format("ended by signal {}", record.signal)};
  }
}

std::string name_of(int64_t number) {
  auto* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE,
                                                static_cast<int>(number));
  if (name == nullptr)
    return fmt::format("system call {}", number);
  std::string text = name;
  std::free(name);
  // What they are called by those who write them.
  if (text == "clone" || text == "fork" || text == "vfork")
    return text + " (a new process)";
  if (text == "openat" || text == "open")
    return text + " (for writing)";
  return text;
}

} // namespace

rejection control_channel::explain(const signature& args) const {
  const auto& record = page().failed;
  auto message = printable(record.message, control::message_bytes / 4);
  switch (static_cast<control::cause>(record.why.load())) {
  case control::cause::signal:
    return by_signal(record, args);
  case control::cause::system_call:
    return {category::cheating_tampering,
            fmt::format("called {}, which a kernel has no need of",
                        name_of(record.syscall))};
  case control::cause::exception:
    return {category::runtime_exception,
            fmt::format("uncaught exception: {}", message)};
  case control::cause::out_of_memory:
    return {category::runtime_oom, "asked for more memory than it may have"};
  case control::cause::exited:
    return {category::runtime_exception,
            "called exit before the kernel had finished"};
  case control::cause::load:
    return {category::compile_link,
            fmt::format("cannot be loaded: {}", message)};
  case control::cause::setup:
    if (newest_ > 1)
      return {category::cheating_tampering,
              "wrote into the verifier's control page"};
    return {category::infra_worker, fmt::format("sandbox: {}", message)};
  case control::cause::none:
    break;
  }
  return {category::runtime_crash, "ended without a reason"};
}

} // namespace swage
