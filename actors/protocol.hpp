#pragma once

#include "actors/errors.hpp"
#include "actors/messages.hpp"

#include <caf/result.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace swage {

// Local only: they hold handles, shared memory or a stop token, are sent by an
// actor of the same process, and have no serialised form.
struct local_snapshot;
struct slot_job;
struct rank_job;
struct rollout_wiring;
struct mirror_wiring;
struct learner_wiring;
struct coordinator_wiring;
struct node_handles;

} // namespace swage

CAF_BEGIN_TYPE_ID_BLOCK(swage, caf::first_custom_type_id + 1800)

  CAF_ADD_ATOM(swage, swage, sync_atom)
  CAF_ADD_ATOM(swage, swage, submit_atom)
  CAF_ADD_ATOM(swage, swage, attach_atom)
  CAF_ADD_ATOM(swage, swage, next_batch_atom)
  CAF_ADD_ATOM(swage, swage, fetch_atom)
  CAF_ADD_ATOM(swage, swage, judgement_atom)
  CAF_ADD_ATOM(swage, swage, commit_atom)
  CAF_ADD_ATOM(swage, swage, checkpointed_atom)
  CAF_ADD_ATOM(swage, swage, end_stage_atom)
  CAF_ADD_ATOM(swage, swage, progress_atom)
  CAF_ADD_ATOM(swage, swage, owner_down_atom)
  CAF_ADD_ATOM(swage, swage, flush_atom)
  CAF_ADD_ATOM(swage, swage, wire_atom)
  CAF_ADD_ATOM(swage, swage, available_atom)
  CAF_ADD_ATOM(swage, swage, rescore_atom)
  CAF_ADD_ATOM(swage, swage, step_atom)
  CAF_ADD_ATOM(swage, swage, drain_atom)
  CAF_ADD_ATOM(swage, swage, verify_atom)
  CAF_ADD_ATOM(swage, swage, credit_atom)
  CAF_ADD_ATOM(swage, swage, cancel_atom)
  CAF_ADD_ATOM(swage, swage, next_atom)
  CAF_ADD_ATOM(swage, swage, advance_atom)
  CAF_ADD_ATOM(swage, swage, stop_atom)
  CAF_ADD_ATOM(swage, swage, publish_atom)
  CAF_ADD_ATOM(swage, swage, newest_atom)
  CAF_ADD_ATOM(swage, swage, local_atom)
  CAF_ADD_ATOM(swage, swage, open_atom)
  CAF_ADD_ATOM(swage, swage, chunk_atom)
  CAF_ADD_ATOM(swage, swage, close_atom)
  CAF_ADD_ATOM(swage, swage, pin_atom)
  CAF_ADD_ATOM(swage, swage, unpin_atom)
  CAF_ADD_ATOM(swage, swage, join_atom)
  CAF_ADD_ATOM(swage, swage, beat_atom)
  CAF_ADD_ATOM(swage, swage, fault_atom)
  CAF_ADD_ATOM(swage, swage, leave_atom)
  CAF_ADD_ATOM(swage, swage, handles_atom)
  CAF_ADD_ATOM(swage, swage, restore_atom)
  CAF_ADD_ATOM(swage, swage, train_atom)

  CAF_ADD_TYPE_ID(swage, (swage::ec))
  CAF_ADD_TYPE_ID(swage, (swage::owner))
  CAF_ADD_TYPE_ID(swage, (swage::trajectory))
  CAF_ADD_TYPE_ID(swage, (swage::sync_request))
  CAF_ADD_TYPE_ID(swage, (swage::sync_reply))
  CAF_ADD_TYPE_ID(swage, (swage::submit_status))
  CAF_ADD_TYPE_ID(swage, (swage::buffer_status))
  CAF_ADD_TYPE_ID(swage, (swage::attach_reply))
  CAF_ADD_TYPE_ID(swage, (swage::next_reply))
  CAF_ADD_TYPE_ID(swage, (swage::judged_reply))
  CAF_ADD_TYPE_ID(swage, (swage::judgement_report))
  CAF_ADD_TYPE_ID(swage, (swage::drift_report))
  CAF_ADD_TYPE_ID(swage, (swage::step_report))
  CAF_ADD_TYPE_ID(swage, (swage::verdict))
  CAF_ADD_TYPE_ID(swage, (swage::verify_request))
  CAF_ADD_TYPE_ID(swage, (swage::verify_reply))
  CAF_ADD_TYPE_ID(swage, (swage::rescore_request))
  CAF_ADD_TYPE_ID(swage, (swage::rescore_reply))
  CAF_ADD_TYPE_ID(swage, (swage::manifest))
  CAF_ADD_TYPE_ID(swage, (swage::pull_ticket))
  CAF_ADD_TYPE_ID(swage, (swage::weight_chunk))
  CAF_ADD_TYPE_ID(swage, (swage::node_id))
  CAF_ADD_TYPE_ID(swage, (swage::node_info))
  CAF_ADD_TYPE_ID(swage, (swage::cluster_map))
  CAF_ADD_TYPE_ID(swage, (swage::join_reply))
  CAF_ADD_TYPE_ID(swage, (swage::beat_report))
  CAF_ADD_TYPE_ID(swage, (swage::beat_reply))
  CAF_ADD_TYPE_ID(swage, (swage::fault_report))
  CAF_ADD_TYPE_ID(swage, (swage::node_handles))
  CAF_ADD_TYPE_ID(swage, (swage::local_snapshot))
  CAF_ADD_TYPE_ID(swage, (swage::slot_job))
  CAF_ADD_TYPE_ID(swage, (swage::rank_job))
  CAF_ADD_TYPE_ID(swage, (swage::rollout_wiring))
  CAF_ADD_TYPE_ID(swage, (swage::mirror_wiring))
  CAF_ADD_TYPE_ID(swage, (swage::learner_wiring))
  CAF_ADD_TYPE_ID(swage, (swage::coordinator_wiring))

CAF_END_TYPE_ID_BLOCK(swage)

CAF_ERROR_CODE_ENUM(swage::ec)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swage::local_snapshot)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swage::slot_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swage::rank_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swage::rollout_wiring)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swage::mirror_wiring)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swage::learner_wiring)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swage::coordinator_wiring)

namespace swage {

/// Weights of one version, shared and not copied.
struct local_snapshot {
  snapshot weights;
};

/// One candidate for one verifier slot.
struct slot_job {
  verify_request request;
  std::stop_token stop;
};

/// One batch for one rank of a learner.
struct rank_job {
  judged_batch batch;
  bool begins_stage = false;
};

/// Life cycle of items; on the head, the journal's only writer. Requests that
/// write are answered after their transaction.
using buffer_actor = caf::typed_actor<
  // Renews leases and asks for work; held up to `poll_hold_s` for a grant.
  caf::result<sync_reply>(sync_atom, sync_request),
  // Stores one sample under a lease. The trajectory names item and index.
  caf::result<submit_status>(submit_atom, owner, uint64_t lease, trajectory),
  // A learner takes over: earlier epochs are fenced from here on.
  caf::result<attach_reply>(attach_atom, owner),
  // Batch `after` + 1, recorded or assembled; held up to `poll_hold_s`.
  caf::result<next_reply>(next_batch_atom, uint64_t epoch, uint64_t after),
  // The payload of one sample, or `not_found`.
  caf::result<trajectory>(fetch_atom, uint64_t item, uint32_t index),
  // Stores the mirror's judgements and the drift of one batch, or fails with
  // `fenced`.
  caf::result<void>(judgement_atom, judgement_report),
  // Batch `step` was trained. Idempotent; fails with `fenced`.
  caf::result<void>(commit_atom, uint64_t epoch, step_report),
  // A checkpoint at `step` with chain hash `hash` is on disk.
  caf::result<void>(checkpointed_atom, uint64_t epoch, uint64_t step,
                    uint64_t hash),
  // All leases of a node that died are free; incarnations up to this one.
  caf::result<void>(owner_down_atom, node_id),
  // Stage, counts, and what the run waits for.
  caf::result<buffer_status>(progress_atom),
  // The present RL stage ends with the batches that are recorded.
  caf::result<void>(end_stage_atom),
  // The run ends: `sync` grants nothing more and says so. The reason, where
  // it could not go on, is recorded.
  caf::result<void>(drain_atom, std::string reason),
  // Self: commits what was handled since the last one, then answers.
  caf::result<void>(flush_atom)>;

/// One slot of a verifier pool; runs detached with an engine of its own.
using slot_actor = caf::typed_actor<
  // The verdict; the job's stop token abandons it.
  caf::result<verdict>(verify_atom, slot_job)>;

/// A node's pool of verifier slots. Each request costs a credit, so that what
/// the pool cannot take yet waits with who wrote it. An asker names itself by
/// an `owner` that nobody else uses, says how many credits it has (got and not
/// spent yet, 0 at first) and how many more it wants, and is told how many it
/// gets: perhaps none now, then it asks again, a moment later. A verdict may
/// bring the next credit (`verify_reply::credit`). Who has nothing more to ask
/// for gives its credits back; who dies has none.
using verifier_actor = caf::typed_actor<
  // Judges one candidate; costs a credit.
  caf::result<verify_reply>(verify_atom, verify_request),
  // How many credits the owner gets, `want` at most, beside the `have` that it
  // holds: what an earlier answer said and was lost counts no more. Both zero:
  // it gives its credits back.
  caf::result<uint32_t>(credit_atom, owner, uint32_t have, uint32_t want),
  // Abandons a request: it is answered with `cancelled`.
  caf::result<void>(cancel_atom, owner, uint64_t id),
  // Refuses new requests and abandons the others after `deadline_s`.
  caf::result<void>(drain_atom, double deadline_s)>;

/// Owner of weight snapshots, in the learner's process; always answers.
using publisher_actor = caf::typed_actor<
  // A new version (same process only).
  caf::result<void>(publish_atom, local_snapshot),
  // What the newest version consists of, or `not_found` before the first.
  caf::result<manifest>(newest_atom),
  // Shares a kept version without a copy (same process only).
  caf::result<local_snapshot>(local_atom, uint64_t version),
  // Keeps a version alive until `close`, or until its puller is gone.
  caf::result<pull_ticket>(open_atom, owner, uint64_t version),
  // The index-th piece of a ticket's version.
  caf::result<weight_chunk>(chunk_atom, uint64_t ticket, uint32_t index),
  // Ends a ticket. Unknown ones are ignored.
  caf::result<void>(close_atom, uint64_t ticket),
  // Keeps a version until this owner's `unpin`, or until its sender is gone;
  // once is enough. Fails with `not_found`.
  caf::result<void>(pin_atom, owner, uint64_t version),
  // Ends a pin. Unknown ones are ignored.
  caf::result<void>(unpin_atom, owner, uint64_t version)>;

/// A pool and the process it lives in.
struct pool_entry {
  node_id where;
  verifier_actor pool;
};

/// What a rollout needs. Replaces the wiring of every smaller generation; a
/// null handle means: wait for the next generation.
struct rollout_wiring {
  uint64_t generation = 0;
  buffer_actor buffer;
  publisher_actor weights;
  std::vector<pool_entry> pools;
};

/// Decodes; runs detached.
using rollout_actor = caf::typed_actor<
  // Whom it talks to from now on.
  caf::result<void>(wire_atom, rollout_wiring),
  // A hint that `version` can be pulled.
  caf::result<void>(available_atom, uint64_t version),
  // Log-probabilities at its own version; `stale` if it has another.
  caf::result<rescore_reply>(rescore_atom, rescore_request),
  // Self: decodes one token of every live sequence.
  caf::result<void>(step_atom),
  // Starts nothing more; answered when the last submit was, or at the deadline.
  caf::result<void>(drain_atom, double deadline_s)>;

struct mirror_wiring {
  uint64_t generation = 0;
  buffer_actor buffer;
  publisher_actor weights;
  std::vector<rollout_actor> rollouts; ///< Asked to rescore.
};

/// Judges drift between buffer and learner; runs detached, with the learner.
using mirror_actor = caf::typed_actor<
  // Whom it talks to from now on.
  caf::result<void>(wire_atom, mirror_wiring),
  // Batch `after` + 1 with its samples and judgements.
  caf::result<judged_reply>(next_atom, uint64_t epoch, uint64_t after)>;

struct learner_wiring {
  uint64_t generation = 0;
  buffer_actor buffer;
  mirror_actor mirror;
  publisher_actor weights;
  std::vector<rollout_actor> rollouts; ///< Told of new versions.
};

/// Trains; runs detached.
using learner_actor = caf::typed_actor<
  // Whom it talks to from now on.
  caf::result<void>(wire_atom, learner_wiring),
  // Self: takes and trains the next batch.
  caf::result<void>(advance_atom),
  // Ends the batch in hand and checkpoints; answers the checkpoint's step.
  caf::result<uint64_t>(stop_atom, double deadline_s)>;

/// A further rank of a data-parallel learner; runs detached, in the learner's
/// process.
using rank_actor = caf::typed_actor<
  // Loads the checkpoint that the learner begins from.
  caf::result<void>(restore_atom, std::string directory),
  // Trains its part of a batch, together with all other ranks.
  caf::result<void>(train_atom, rank_job)>;

struct coordinator_wiring {
  uint64_t generation = 0;
  buffer_actor buffer;
  publisher_actor weights; ///< Pins what an evaluation needs.
};

/// Admits nodes, advances stages, ends the run; on the head.
using coordinator_actor = caf::typed_actor<
  // Whom it talks to from now on.
  caf::result<void>(wire_atom, coordinator_wiring),
  // Admitted with the run's configuration and topology, or refused with the
  // knobs in which `config`, the node's own as TOML, differs.
  caf::result<join_reply>(join_atom, node_info, std::string config),
  // Every `beat_interval_s`; a node that stays silent is declared dead.
  caf::result<beat_reply>(beat_atom, beat_report),
  // What went wrong on a node, for the log and the run's record.
  caf::result<void>(fault_atom, fault_report),
  // A node leaves in order.
  caf::result<void>(leave_atom, node_id, std::string reason),
  // Ctrl-C: drain all nodes, then end the run.
  caf::result<void>(stop_atom)>;

/// One per process, published at its address.
using node_actor = caf::typed_actor<
  // Handles of what runs here, taken by each node that is wired to it.
  caf::result<node_handles>(handles_atom),
  // Applies a map unless a newer one was applied.
  caf::result<void>(wire_atom, cluster_map),
  // Drains everything here and ends the process.
  caf::result<void>(drain_atom, double deadline_s)>;

/// The answer to `handles`; null or empty: does not run there.
struct node_handles {
  node_id who;
  coordinator_actor coordinator;
  buffer_actor buffer;
  publisher_actor publisher;
  verifier_actor pool;
  std::vector<rollout_actor> rollouts;
};

template <class Inspector>
bool inspect(Inspector& f, node_handles& x) {
  return f.object(x).fields(
    f.field("who", x.who), f.field("coordinator", x.coordinator),
    f.field("buffer", x.buffer), f.field("publisher", x.publisher),
    f.field("pool", x.pool), f.field("rollouts", x.rollouts));
}

} // namespace swage
