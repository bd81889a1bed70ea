#pragma once

/// `swage-worker serve FD`: the template that candidates are forked from,
/// controlled through the socket FD until its other end is closed.
int serve(int control);

/// `swage-worker compile CPU_S MEMORY OUTPUT_FD [PATH...] -- COMPILER...`: runs
/// a compiler in an empty scratch folder, confined to the named paths, and
/// copies its `out` into the descriptor. Exits as the compiler does, with
/// 125 where it could not be started.
int compile(int argc, char** argv);
