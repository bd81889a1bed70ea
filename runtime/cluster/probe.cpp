#include "runtime/cluster/probe.hpp"

#include "runtime/descriptor.hpp"

#include <fmt/format.h>

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

namespace swage {

namespace {

using context_ptr = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using session_ptr = std::unique_ptr<SSL, decltype(&SSL_free)>;

/// OpenSSL writes without MSG_NOSIGNAL: a peer that hangs up would end us.
class no_pipe_signal {
public:
  no_pipe_signal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  no_pipe_signal(const no_pipe_signal&) = delete;
  no_pipe_signal& operator=(const no_pipe_signal&) = delete;
  ~no_pipe_signal() {
    timespec none{};
    ::sigtimedwait(&pipe_, nullptr, &none);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t pipe_, before_;
};

std::string last_tls_reason() {
  auto code = ERR_peek_last_error();
  auto* text = ERR_reason_error_string(code);
  return text ? text : fmt::format("error {:x}", code);
}

bool timed_out() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

timeval seconds(double s) {
  auto whole = static_cast<time_t>(s);
  return {whole, static_cast<suseconds_t>(1e6 * (s - static_cast<double>(whole)))};
}

result<descriptor> dial(const std::string& host, uint16_t port,
                        double timeout_s) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  auto number = std::to_string(port);
  if (auto code = ::getaddrinfo(host.c_str(), number.c_str(), &hints, &found))
    return fail(ec::infra, fmt::format("{}: {}", host, ::gai_strerror(code)));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found,
                                                           &::freeaddrinfo};
  int why = 0;
  for (auto* one = all.get(); one; one = one->ai_next) {
    descriptor made{::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    auto limit = seconds(timeout_s);
    ::setsockopt(made.value(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(made.value(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(made.value(), one->ai_addr, one->ai_addrlen) == 0)
      return made;
    why = errno;
  }
  return fail(ec::infra, std::strerror(why));
}

tl::unexpected<error> unusable(const char* knob, const std::string& file) {
  return fail(ec::invalid_config,
              fmt::format("cluster.{} = \"{}\" cannot be used: {}", knob, file,
                          last_tls_reason()));
}

result<context_ptr> make_context(const tls_files& files) {
  ERR_clear_error();
  context_ptr made{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
  auto* raw = made.get();
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1)
    return unusable("tls_certificate", files.certificate);
  if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1
      || SSL_CTX_check_private_key(raw) != 1)
    return unusable("tls_key", files.key);
  if (SSL_CTX_load_verify_locations(raw, files.ca.c_str(), nullptr) != 1)
    return unusable("tls_ca", files.ca);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  return made;
}

/// Why the handshake, or the first read after it, did not come through.
error explain_tls(SSL* session, int code, const tls_files& files) {
  if (auto bad = SSL_get_verify_result(session); bad != X509_V_OK)
    return {ec::invalid_config,
            fmt::format("its certificate is not accepted under cluster.tls_ca "
                        "= \"{}\": {}",
                        files.ca, X509_verify_cert_error_string(bad))};
  if (SSL_get_error(session, code) != SSL_ERROR_SSL)
    return {ec::infra, timed_out() ? "it does not answer"
                                   : "it closed the connection"};
  auto reason = ERR_GET_REASON(ERR_peek_last_error());
  if (reason == SSL_R_WRONG_VERSION_NUMBER)
    return {ec::invalid_config, "it speaks without TLS, and [cluster] tls_* "
                                "are set here"};
  return {ec::invalid_config,
          fmt::format("it does not accept cluster.tls_certificate = \"{}\": {}",
                      files.certificate, last_tls_reason())};
}

result<void> greet_with_tls(const descriptor& to, const tls_files& files) {
  auto context = make_context(files);
  if (!context)
    return tl::unexpected(context.error());
  session_ptr session{SSL_new(context->get()), &SSL_free};
  SSL_set_fd(session.get(), to.value());
  ERR_clear_error();
  errno = 0;
  auto done = SSL_connect(session.get());
  char first = 0;
  // A certificate that is refused is told after the handshake only (TLS 1.3).
  if (done == 1)
    done = SSL_read(session.get(), &first, 1);
  if (done == 1) {
    SSL_shutdown(session.get()); // So that the node there logs no failure.
    return {};
  }
  return tl::unexpected(explain_tls(session.get(), done, files));
}

/// Whether a server that does not greet answers a TLS client, however.
bool speaks_tls(const descriptor& to) {
  context_ptr context{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
  session_ptr session{SSL_new(context.get()), &SSL_free};
  SSL_set_fd(session.get(), to.value());
  ERR_clear_error();
  auto done = SSL_connect(session.get());
  return done == 1
         || (SSL_get_error(session.get(), done) == SSL_ERROR_SSL
             && ERR_GET_REASON(ERR_peek_last_error())
                  != SSL_R_WRONG_VERSION_NUMBER);
}

} // namespace

result<void> check_tls(const tls_files& files) {
  if (!files.used())
    return {};
  auto made = make_context(files);
  return made ? result<void>{} : tl::unexpected(made.error());
}

result<void> probe_node(const std::string& host, uint16_t port,
                        const tls_files& files, double timeout_s) {
  no_pipe_signal guard;
  {
    auto to = dial(host, port, timeout_s);
    if (!to)
      return tl::unexpected(to.error());
    if (files.used())
      return greet_with_tls(*to, files);
    char first = 0;
    auto got = ::recv(to->value(), &first, 1, 0);
    if (got == 1)
      return {};
    if (got == 0 || !timed_out())
      return fail(ec::infra, "it closed the connection");
  }
  auto again = dial(host, port, timeout_s);
  if (again && speaks_tls(*again))
    return fail(ec::invalid_config, "it speaks TLS only: set [cluster] "
                                    "tls_certificate, tls_key and tls_ca");
  return fail(ec::infra, "it does not greet as a node does");
}

} // namespace swage
