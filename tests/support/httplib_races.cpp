/// Read by ThreadSanitizer. Debian's shared cpp-httplib is built without it, so
/// what its atomics order is not seen and its memory calls look like races.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return "race:libcpp-httplib\n";
}
