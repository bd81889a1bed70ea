#pragma once

#include <cstddef>
#include <cstdint>

/// What runs inside a sandboxed process, around a candidate: small, without
/// torch and without our other libraries, so that any template can load it
/// (swage-worker links it, a Python template opens libswage_sandbox.so).
///
/// A template calls `prepare` once, forks, and the fork calls `isolate` (or
/// inherits it from the template) and one of the two `serve` functions, which
/// do the rest: map the cases between guard pages, install fault handlers,
/// give up every right (`enter`), load the artifact and answer requests until
/// the trusted side ends the process. Functions return 0, or -1 with errno.
extern "C" {

/// Reads what later cannot be read: loads the libraries that artifacts need
/// (libgomp, libmvec, libm) and compiles the system call filter.
int swage_sandbox_prepare(void);

/// How much of the system `isolate` leaves visible.
struct swage_sandbox_view {
  const char* const* visible; ///< Paths to keep, read-only; null-terminated.
  uint64_t scratch_bytes;     ///< Size of the new root, a tmpfs; 0: 64 MiB.
  int new_pids;               ///< 1: the next fork begins a pid namespace.
};

/// Moves the calling process (one thread) into new namespaces with an empty
/// root, as root or as an ordinary user. Gives up root's uid, unless there are
/// paths to keep and no new root: another user might not be let into them.
/// `note` receives what was reached and what was refused, as text. -1 only if
/// the process is left in a state that must not go on.
int swage_sandbox_isolate(const swage_sandbox_view* view, char* note,
                          size_t note_bytes);

/// Closes the file system to the calling process and to what it becomes, but for
/// the `visible` paths (null-terminated; to read and run) and the folder
/// `scratch` (to write), where `isolate` reached no root of its own. Gives up
/// all capabilities but root's to read what is open. Where the kernel has no
/// landlock, all files of this user stay open.
int swage_sandbox_hide_files(const char* const* visible, const char* scratch);

/// Gives up, for good: capabilities, new privileges, files, address space
/// beyond what is mapped plus `memory_bytes`, CPU time beyond `cpu_s`, and all
/// system calls that a kernel has no need of. A refused one raises SIGSYS.
int swage_sandbox_enter(uint64_t memory_bytes, uint32_t cpu_s);

/// Serves the artifact (a shared object in a file) on the data and control
/// files (control.hpp). `inputs` is the data file opened for reading only, so
/// that no candidate can make its inputs and state writable. Never returns.
[[noreturn]] void swage_sandbox_serve(int artifact, int inputs, int data,
                                      int control);

/// Called for each request; `tensors` in argument order. 0 is success.
typedef int (*swage_sandbox_function)(uint32_t which, void* const* tensors,
                                      const int64_t* sizes);

/// The same with a function of the template's own, which is not confined:
/// for the trusted reference. Never returns.
[[noreturn]] void swage_sandbox_serve_function(swage_sandbox_function function,
                                               int data, int control);
}
