#pragma once

#include "actors/compute.hpp"
#include "actors/mail.hpp"
#include "actors/protocol.hpp"
#include "runtime/config/config.hpp"
#include "runtime/policy/rollout_core.hpp"

#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace swage {

/// What a rollout is made of.
struct rollout_parts {
  owner who;
  std::shared_ptr<generator> model;
  rollout_tools tools;
  config settings;
  std::shared_ptr<progress_counter> counter;
  std::shared_ptr<measure_gate> gate; ///< Decoding waits for measurements.
  std::function<double()> wall_clock; ///< Seconds since the epoch, for stamps.
};

/// Decodes. Between two steps it reads its mailbox, so that new weights arrive
/// in flight. What starts, waits and is sent again is `rollout_core`'s
/// decision; this turns its effects into messages.
class rollout_state {
public:
  using interface = rollout_actor;

  rollout_state(rollout_actor::pointer self, rollout_parts parts);

  rollout_actor::behavior_type make_behavior();

  const rollout_core& core() const { return core_; }

private:
  /// A snapshot that arrives in pieces.
  struct pull {
    pull_ticket ticket;
    std::shared_ptr<std::vector<std::byte>> data;
    uint32_t next = 0;
  };

  void wire(rollout_wiring wiring);
  void sync();
  void on_sync(sync_reply& reply);
  void step();
  void decode();
  void want_step();
  caf::result<rescore_reply> rescore(const rescore_request& request);
  caf::result<void> drain(double deadline_s);
  void finish_drain();

  void apply(rollout_effects effects);
  void verify(verify_order order);
  void submit(submission one);
  void watch_credit();
  void ask_credit();

  void want_weights();
  void pull_version(uint64_t version);
  void pull_chunks(uint64_t version);
  void next_chunk();
  void on_chunk(const weight_chunk& piece);
  void on_pulled(const snapshot& weights);
  void pull_failed();

  double now() const { return parts_.wall_clock(); }
  double timeout() const { return parts_.settings.faults.request_timeout_s; }

  rollout_actor::pointer self_;
  mailbox<rollout_actor::base> box_;
  rollout_parts parts_;
  rollout_core core_;
  rollout_wiring wiring_;
  std::map<node_id, uint32_t> pool_numbers_;
  std::map<uint32_t, verifier_actor> pools_;
  std::optional<pull> pull_;
  bool pulling_ = false;
  bool syncing_ = false;
  bool stepping_ = false;
  uint64_t pauses_ = 0;
  bool crediting_ = false;
  std::set<uint32_t> asking_; ///< Pools whose answer to `credit` is due.
  std::set<uint32_t> hungry_; ///< Pools that may keep something for us.
  uint64_t credit_looks_ = 0;
  std::optional<caf::typed_response_promise<void>> draining_;
};

} // namespace swage
