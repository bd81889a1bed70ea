#include "actors/tls_errors.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

extern "C" {

int __real_SSL_accept(SSL* session);
int __real_SSL_connect(SSL* session);
int __real_SSL_read(SSL* session, void* into, int bytes);
int __real_SSL_write(SSL* session, const void* from, int bytes);

int __wrap_SSL_accept(SSL* session) {
  ERR_clear_error();
  return __real_SSL_accept(session);
}

int __wrap_SSL_connect(SSL* session) {
  ERR_clear_error();
  return __real_SSL_connect(session);
}

int __wrap_SSL_read(SSL* session, void* into, int bytes) {
  ERR_clear_error();
  return __real_SSL_read(session, into, bytes);
}

int __wrap_SSL_write(SSL* session, const void* from, int bytes) {
  ERR_clear_error();
  return __real_SSL_write(session, from, bytes);
}

} // extern "C"

namespace swage {

void keep_tls_errors_apart() {
  // nop
}

} // namespace swage
