/// Read by LeakSanitizer. CAF 0.18 leaves its network broker and what that
/// holds behind where an actor system ends while a connection is being closed:
/// the broker and its connection own each other until the network's loop has
/// told them of the end, and that loop may have stopped.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  return "leak:caf::io::\n"
         "leak:caf::actor_system::actor_system\n";
}
