#pragma once

namespace swage {

/// CAF 0.18 does not empty OpenSSL's list of errors, which belongs to the
/// thread and from which OpenSSL reads what became of a call. After one peer
/// has hung up, the next call for any other connection therefore counts as
/// failed, and CAF closes that too. The linker sends the calls of whoever links
/// `swage::actors` through this file, which empties the list before each
/// (`--wrap` in actors/CMakeLists.txt). Does nothing but be linked.
void keep_tls_errors_apart();

} // namespace swage
