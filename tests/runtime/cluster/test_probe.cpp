#include "runtime/cluster/probe.hpp"

#include "tests/support/authorities.hpp"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace swage;

namespace {

constexpr double patience_s = 20, impatience_s = 0.2;

/// Serves connections of the loopback, one after another, until it ends.
class listener {
public:
  explicit listener(std::function<void(int)> serve) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* raw = reinterpret_cast<sockaddr*>(&where);
    socklen_t size = sizeof where;
    REQUIRE(::bind(socket_, raw, size) == 0);
    REQUIRE(::listen(socket_, 8) == 0);
    REQUIRE(::getsockname(socket_, raw, &size) == 0);
    port = ntohs(where.sin_port);
    thread_ = std::thread{[this, serve] {
      for (int one; (one = ::accept(socket_, nullptr, nullptr)) >= 0;) {
        serve(one);
        ::close(one);
      }
    }};
  }

  ~listener() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

  uint16_t port = 0;

private:
  int socket_;
  std::thread thread_;
};

void greet(int to) {
  (void) !::send(to, "hello", 5, MSG_NOSIGNAL);
}

/// Waits until the other side hangs up.
void stay_silent(int to) {
  char any = 0;
  while (::recv(to, &any, 1, 0) > 0) {}
}

/// Greets over TLS, with a certificate demanded from the client.
std::function<void(int)> greet_over_tls(const tls_files& files) {
  return [files](int to) {
    auto* context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_load_verify_locations(context, files.ca.c_str(), nullptr);
    SSL_CTX_set_verify(context,
                       SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       nullptr);
    auto* session = SSL_new(context);
    SSL_set_fd(session, to);
    if (SSL_accept(session) == 1)
      SSL_write(session, "hello", 5);
    SSL_free(session);
    SSL_CTX_free(context);
  };
}

error refusal(const listener& of, const tls_files& files,
              double timeout_s = patience_s) {
  auto met = probe_node("127.0.0.1", of.port, files, timeout_s);
  REQUIRE_FALSE(met.has_value());
  INFO(met.error().message);
  return met.error();
}

} // namespace

TEST_CASE("a node that greets is met", "[cluster][probe]") {
  listener plain{greet};
  CHECK(probe_node("127.0.0.1", plain.port, {}, patience_s).has_value());
  test::authorities both;
  listener safe{greet_over_tls(both.of("ours", "ours"))};
  auto met = probe_node("localhost", safe.port, both.of("ours", "ours"),
                        patience_s);
  INFO((met ? "" : met.error().message));
  CHECK(met.has_value());
}

TEST_CASE("certificates of another authority are told apart",
          "[cluster][probe]") {
  test::authorities both;
  listener safe{greet_over_tls(both.of("ours", "ours"))};
  // We do not trust theirs.
  auto one = refusal(safe, both.of("ours", "theirs"));
  CHECK(one.code == ec::invalid_config);
  CHECK(one.message.find("not accepted under cluster.tls_ca = ")
        != std::string::npos);
  // They do not trust ours.
  auto other = refusal(safe, both.of("theirs", "ours"));
  CHECK(other.code == ec::invalid_config);
  CHECK(other.message.find("does not accept cluster.tls_certificate = ")
        != std::string::npos);
}

TEST_CASE("TLS on one side only is told", "[cluster][probe]") {
  test::authorities both;
  listener safe{greet_over_tls(both.of("ours", "ours"))};
  auto without = refusal(safe, {}, impatience_s);
  CHECK(without.code == ec::invalid_config);
  CHECK(without.message.starts_with("it speaks TLS only"));
  listener plain{greet};
  auto with = refusal(plain, both.of("ours", "ours"));
  CHECK(with.code == ec::invalid_config);
  CHECK(with.message.starts_with("it speaks without TLS"));
}

TEST_CASE("who says nothing may do so for a while", "[cluster][probe]") {
  uint16_t port = 0;
  {
    listener silent{stay_silent};
    port = silent.port;
    auto one = refusal(silent, {}, impatience_s);
    CHECK(one.code == ec::infra);
    CHECK(one.message == "it does not greet as a node does");
  }
  auto nobody = probe_node("127.0.0.1", port, {}, patience_s);
  REQUIRE_FALSE(nobody.has_value());
  CHECK(nobody.error().code == ec::infra);
  CHECK(nobody.error().message == "Connection refused");
}

TEST_CASE("files that OpenSSL does not take are named", "[cluster][probe]") {
  CHECK(check_tls({}).has_value());
  test::authorities both;
  CHECK(check_tls(both.of("ours", "ours")).has_value());
  auto files = both.of("ours", "ours");
  files.key = both.of("theirs", "ours").key;
  auto bad = check_tls(files);
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().code == ec::invalid_config);
  CHECK(bad.error().message.starts_with("cluster.tls_key = \"" + files.key));
  files.certificate = (both.path / "log").string();
  CHECK(check_tls(files).error().message.starts_with("cluster.tls_certificate"));
}
