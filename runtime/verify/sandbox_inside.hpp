#pragma once

#include "runtime/verify/control.hpp"

#include <cstddef>
#include <cstdint>

/// Shared by the parts of sandbox.hpp, inside the sandboxed process only.
namespace swage::inside {

/// Whether `isolate` reached an empty root, in which the artifact is a file.
extern bool own_root;

/// Remembers the address space in use while /proc can be read.
void note_memory();

/// Bytes of address space that the process used at the last note.
uint64_t noted_memory();

/// The cases of a job, mapped between guard pages.
struct cases {
  static constexpr uint32_t max_tensors = 1024;
  static constexpr uint32_t max_sizes = 4096;

  control::job job;
  control::tensor tensors[max_tensors];
  int64_t sizes[max_sizes];
  char** regions = nullptr;  ///< [case * job.tensors + tensor], region's start.
  uint64_t mapped_bytes = 0; ///< Address space, guards included.

  char* start(uint32_t which, uint32_t tensor) const {
    const auto& t = tensors[tensor];
    return regions[which * job.tensors + tensor] + (t.offset - t.region_offset);
  }
};

/// The descriptors of a job's files.
struct job_files {
  int inputs;  ///< The data file, from which inputs and state are mapped.
  int data;    ///< The same file, writable, for the outputs.
  int control;
};

/// Reads the job from the control file and maps the data file. Returns null or
/// the step that failed, with errno.
const char* map_cases(const job_files& files, cases& into);

/// Maps the control page.
control::page* map_page(int control_fd);

/// Handles faults from here on: records them in `page` and ends the process.
void watch_faults(control::page* page, const cases* data);

/// Whether a call is under way, for exit() in a candidate.
extern bool in_call;

/// Records why the process ends, rings, and ends it.
[[noreturn]] void give_up(control::page* page, control::cause why,
                          const char* message, int status);

/// Records the exception that is being handled and ends the process.
[[noreturn]] void give_up_on_exception(control::page* page);

/// Tells the trusted side that there is news.
void ring(control::page* page);

/// Sleeps until `word` may differ from `value`.
void sleep_while(const void* word, uint32_t value);

/// Whether the kernel can close the file system to a process (`hide_files`).
bool can_hide_files();

/// Closes the file system to this process, for where it has no root of its own,
/// but for `visible` (null-terminated, to read) and `scratch` (to write), which
/// may be null. Files in memory stay open to it, hence the artifact.
bool hide_files(const char* const* visible = nullptr,
                const char* scratch = nullptr);

/// Compiles the system call filter, once.
bool prepare_filter();

/// Loads the filter into this process.
bool load_filter();

} // namespace swage::inside
