#pragma once

#include <sys/types.h>

namespace swage {

/// CPU seconds of another process, all its threads; negative if it is gone.
double process_cpu_s(pid_t pid);

/// Whether no thread of it runs or wants to. A thread that waits for a core is
/// told from one that waits for an event, which its CPU clock cannot tell.
bool is_asleep(pid_t pid);

} // namespace swage
