#pragma once

#include "tools/swage/restart_policy.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace swage {

/// Arguments of this program for the n-th start of the child, from 0.
using child_arguments = std::function<std::vector<std::string>(uint64_t)>;

/// Runs this program again as a child until it ends for good, and returns the
/// exit code. The child dies with this process. The first SIGINT, SIGTERM or
/// SIGHUP asks the child to stop (SIGTERM), the second kills it. The child
/// ignores SIGINT: a Ctrl-C reaches the whole group, and this process decides
/// what it means.
/// @pre No other thread of this process runs.
int supervise(const child_arguments& arguments, restart_policy policy);

} // namespace swage
