#include "actors/embedding.hpp"
#include "actors/network.hpp"
#include "tests/support/authorities.hpp"
#include "tests/system/process.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/openssl/remote_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

using namespace swage;

namespace {

constexpr double patience_s = 60;

/// An actor system of its own, with its own network thread.
struct tls_system {
  explicit tls_system(const tls_files& files) {
    settings.cluster.tls_certificate = files.certificate;
    settings.cluster.tls_key = files.key;
    settings.cluster.tls_ca = files.ca;
    settings.faults.detection_s = 30; // Nobody is to be missed.
    configure(host, settings);
    sys = std::make_unique<caf::actor_system>(host);
    self = std::make_unique<caf::scoped_actor>(*sys);
  }

  ~tls_system() { self.reset(); }

  node_actor meet(uint16_t port) {
    auto there = caf::openssl::remote_actor<node_actor>(*sys, "127.0.0.1",
                                                        port);
    if (!there)
      FAIL(to_string(there.error()));
    return *there;
  }

  /// Whether a node answers.
  bool asks(const node_actor& who) {
    bool out = false;
    request(self->ptr(), who, patience_s, handles_atom_v)
      .receive([&](node_handles&) { out = true; }, [](caf::error&) {});
    return out;
  }

  config settings;
  caf::actor_system_config host;
  std::unique_ptr<caf::actor_system> sys;
  std::unique_ptr<caf::scoped_actor> self;
};

/// Answers, and tells when the first who asked is gone.
struct watchful_state {
  using interface = node_actor;

  watchful_state(interface::pointer self,
                 std::shared_ptr<std::promise<void>> gone)
    : self_(self), mail_(self), gone_(std::move(gone)) {}

  interface::behavior_type make_behavior() {
    return {
      [this](handles_atom) {
        if (auto first = std::exchange(gone_, nullptr))
          mail_.watch(self_->current_sender(),
                      [first](const error&) { first->set_value(); });
        return node_handles{};
      },
      [](wire_atom, const cluster_map&) {},
      [](drain_atom, double) {},
    };
  }

private:
  interface::pointer self_;
  mailbox<interface::base> mail_;
  std::shared_ptr<std::promise<void>> gone_;
};

} // namespace

TEST_CASE("a lost TLS connection leaves the others alone", "[actors][tls]") {
  test::authorities both;
  auto files = both.of("ours", "ours");
  tls_system head{files}, other{files};
  auto gone = std::make_shared<std::promise<void>>();
  auto node = head.sys->spawn<actor_of<watchful_state>>(gone);
  auto port = test::free_port();
  auto open = publish_node(*head.sys, head.settings, node,
                           "127.0.0.1:" + std::to_string(port));
  INFO((open ? "" : open.error().message));
  REQUIRE(open.has_value());
  {
    tls_system lost{files};
    REQUIRE(lost.asks(lost.meet(port)));
    REQUIRE(other.asks(other.meet(port)));
  }
  REQUIRE(gone->get_future().wait_for(std::chrono::seconds{60})
          == std::future_status::ready);
  // Often enough that the head has noticed the end of the connection too.
  auto there = other.meet(port);
  int answers = 0;
  while (answers < 200 && other.asks(there))
    ++answers;
  CHECK(answers == 200);
  caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
}

TEST_CASE("whoever looks who listens disturbs nobody", "[actors][tls]") {
  test::authorities both;
  auto files = both.of("ours", "ours");
  tls_system head{files}, other{files};
  auto node = head.sys->spawn<actor_of<watchful_state>>(nullptr);
  auto port = test::free_port();
  REQUIRE(publish_node(*head.sys, head.settings, node,
                       "127.0.0.1:" + std::to_string(port))
            .has_value());
  auto there = other.meet(port);
  for (int i = 0; i < 20; ++i) {
    // One that may join, one of another authority, and one without TLS.
    CHECK(probe_node("127.0.0.1", port, files, patience_s).has_value());
    CHECK_FALSE(probe_node("127.0.0.1", port, both.of("theirs", "theirs"),
                           patience_s)
                  .has_value());
    CHECK_FALSE(probe_node("127.0.0.1", port, {}, 0.01).has_value());
    CHECK(other.asks(there));
  }
  caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
}
