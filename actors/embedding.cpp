#include "actors/embedding.hpp"

#include "actors/mail.hpp"
#include "actors/network.hpp"
#include "actors/protocol.hpp"
#include "actors/tls_errors.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/detail/meta_object.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/io/middleman.hpp>
#include <caf/json_writer.hpp>
#include <caf/openssl/manager.hpp>

#include <fmt/format.h>

#include <mutex>
#include <string_view>
#include <vector>

namespace swage {

namespace {

uint64_t fnv(uint64_t hash, std::string_view text) {
  for (unsigned char c : text)
    hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

// The text of a default object names its fields. Elements of its vectors do
// not show, so they are listed as types of their own.
template <class T>
void add_type(uint64_t& hash) {
  caf::json_writer writer;
  T x{};
  if (writer.apply(x)) {
    auto text = writer.str();
    hash = fnv(hash, std::string_view{text.data(), text.size()});
  }
}

template <class Interface>
void add_interface(uint64_t& hash) {
  for (auto& message : Interface::allowed_inputs())
    for (size_t i = 0; i < message.size(); ++i) {
      auto name = caf::query_type_name(message[i]);
      hash = fnv(hash, std::string_view{name.data(), name.size()});
    }
}

template <class... Ts>
void add_types(uint64_t& hash) {
  (add_type<Ts>(hash), ...);
}

template <class... Ts>
void add_interfaces(uint64_t& hash) {
  (add_interface<Ts>(hash), ...);
}

std::vector<std::string> app_identifiers() {
  return {fmt::format("swage-{:016x}", protocol_hash())};
}

result<void> expect(caf::actor_system& sys, const char* key,
                    caf::timespan wanted) {
  auto found = caf::get_or(sys.config(), key, caf::timespan{0});
  if (found == wanted)
    return {};
  return fail(ec::invalid_config,
              fmt::format("the actor system's {} is {} ns where the "
                          "configuration wants {} ns: call swage::configure "
                          "before the system starts and leave the key alone",
                          key, found.count(), wanted.count()));
}

constexpr auto heartbeat_key = "caf.middleman.heartbeat-interval";
constexpr auto timeout_key = "caf.middleman.connection-timeout";

} // namespace

void register_types() {
  static std::once_flag once;
  std::call_once(once, [] {
    caf::init_global_meta_objects<caf::id_block::swage>();
    caf::openssl::manager::init_global_meta_objects();
    caf::io::middleman::init_global_meta_objects();
    caf::core::init_global_meta_objects();
  });
}

void configure(caf::actor_system_config& host, const config& settings) {
  register_types();
  host.load<caf::io::middleman>();
  if (tls_of(settings).used()) {
    keep_tls_errors_apart();
    host.load<caf::openssl::manager>();
    host.openssl_certificate = settings.cluster.tls_certificate;
    host.openssl_key = settings.cluster.tls_key;
    host.openssl_cafile = settings.cluster.tls_ca;
  }
  host.set(heartbeat_key, seconds_of(settings.faults.beat_interval_s));
  host.set(timeout_key, seconds_of(settings.faults.detection_s));
  host.set("caf.middleman.app-identifiers", app_identifiers());
  // A handle that came through a third node reports no death: nodes connect
  // to each other themselves.
  host.set("caf.middleman.enable-automatic-connections", false);
}

result<void> check(caf::actor_system& sys, const config& settings) {
  if (!sys.has_middleman())
    return fail(ec::invalid_config,
                "the actor system has no network module: call "
                "swage::configure before it starts");
  if (tls_of(settings).used() && !sys.has_openssl_manager())
    return fail(ec::invalid_config,
                "[cluster] names certificates, but the actor system has no "
                "TLS module: call swage::configure before it starts");
  auto names = caf::get_or(sys.config(), "caf.middleman.app-identifiers",
                           std::vector<std::string>{});
  if (names != app_identifiers())
    return fail(ec::invalid_config,
                fmt::format("the actor system's application id is not {}: "
                            "nodes of another build would be let in",
                            app_identifiers().front()));
  if (auto ok = expect(sys, heartbeat_key,
                       seconds_of(settings.faults.beat_interval_s));
      !ok)
    return ok;
  return expect(sys, timeout_key, seconds_of(settings.faults.detection_s));
}

uint64_t protocol_hash() {
  register_types();
  static const uint64_t value = [] {
    uint64_t hash = 14695981039346656037ull;
    add_types<owner, trajectory, turn, version_run, hop_times, verdict,
              verdict_times, task, eval_spec, signature, tensor_spec, grant,
              item, sampling, sync_request, sync_reply, attach_reply,
              next_reply, batch, batch_member, judged_reply, judged_batch,
              judgement, judgement_report, drift_report, step_report,
              verify_request, verify_reply, rescore_request, token_sequence,
              rescore_reply, manifest, tensor_entry, pull_ticket, weight_chunk,
              node_info, cluster_map, join_reply, beat_report, actor_progress,
              beat_reply, fault_report, buffer_status, buffer_progress>(hash);
    add_interfaces<buffer_actor, verifier_actor, publisher_actor, rollout_actor,
                   coordinator_actor, node_actor>(hash);
    return hash;
  }();
  return value;
}

std::string build_version() {
  return SWAGE_VERSION;
}

} // namespace swage
