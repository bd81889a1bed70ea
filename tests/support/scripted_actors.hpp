#pragma once

#include "actors/mail.hpp"
#include "actors/protocol.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swage::test {

/// A buffer that answers as a test says and notes what it was told. What has
/// no script fails with `infra`.
struct buffer_script {
  std::function<caf::result<sync_reply>(const sync_request&)> sync;
  std::function<caf::result<submit_status>(uint64_t lease, const trajectory&)>
    submit;
  std::function<caf::result<next_reply>(uint64_t epoch, uint64_t after)> next;
  std::map<std::pair<uint64_t, uint32_t>, trajectory> samples;
  attach_reply attached;
  std::function<result<void>(const step_report&)> commit;
  std::function<result<void>(uint64_t step)> announced;
  std::vector<judgement_report> judged;
  std::vector<step_report> committed;
  std::vector<std::pair<uint64_t, uint64_t>> checkpoints; ///< step, hash
  std::vector<trajectory> submitted;
};

struct scripted_buffer_state {
  using interface = buffer_actor;

  scripted_buffer_state(buffer_actor::pointer, buffer_script* told)
    : script(told) {}

  buffer_actor::behavior_type make_behavior() {
    return {
      [this](sync_atom, const sync_request& request) -> caf::result<sync_reply> {
        return script->sync ? script->sync(request) : nothing();
      },
      [this](submit_atom, const owner&, uint64_t lease,
             const trajectory& sample) -> caf::result<submit_status> {
        script->submitted.push_back(sample);
        return script->submit ? script->submit(lease, sample) : nothing();
      },
      [this](attach_atom, const owner&) { return script->attached; },
      [this](next_batch_atom, uint64_t epoch,
             uint64_t after) -> caf::result<next_reply> {
        return script->next ? script->next(epoch, after) : nothing();
      },
      [this](fetch_atom, uint64_t item,
             uint32_t index) -> caf::result<trajectory> {
        auto it = script->samples.find({item, index});
        if (it == script->samples.end())
          return to_caf({ec::not_found, "no such sample"});
        return it->second;
      },
      [this](judgement_atom, const judgement_report& report) {
        script->judged.push_back(report);
      },
      [this](commit_atom, uint64_t,
             const step_report& report) -> caf::result<void> {
        if (script->commit)
          if (auto answer = script->commit(report); !answer)
            return to_caf(answer.error());
        script->committed.push_back(report);
        return caf::unit;
      },
      [this](checkpointed_atom, uint64_t, uint64_t step,
             uint64_t hash) -> caf::result<void> {
        if (script->announced)
          if (auto answer = script->announced(step); !answer)
            return to_caf(answer.error());
        script->checkpoints.emplace_back(step, hash);
        return caf::unit;
      },
      [](owner_down_atom, const node_id&) {},
      [](progress_atom) { return buffer_status{}; },
      [](end_stage_atom) {},
      [](drain_atom, const std::string&) {},
      [](flush_atom) {},
    };
  }

  static caf::error nothing() {
    return to_caf({ec::infra, "the test has no script for this"});
  }

  buffer_script* script;
};

/// A publisher that keeps what it gets.
struct weights_script {
  std::map<uint64_t, snapshot> kept;
  std::vector<uint64_t> published;
  uint32_t shared = 0; ///< Answers to `local`,
  uint32_t chunks = 0; ///< and to `chunk`.
};

struct scripted_publisher_state {
  using interface = publisher_actor;

  scripted_publisher_state(publisher_actor::pointer, weights_script* told)
    : script(told) {}

  publisher_actor::behavior_type make_behavior() {
    return {
      [this](publish_atom, const local_snapshot& one) {
        script->published.push_back(one.weights.what.version);
        script->kept[one.weights.what.version] = one.weights;
      },
      [this](newest_atom) -> caf::result<manifest> {
        if (script->kept.empty())
          return to_caf({ec::not_found, "nothing was published"});
        return script->kept.rbegin()->second.what;
      },
      [this](local_atom, uint64_t version) -> caf::result<local_snapshot> {
        auto it = script->kept.find(version);
        if (it == script->kept.end())
          return to_caf({ec::not_found, "no such version"});
        ++script->shared;
        return local_snapshot{it->second};
      },
      [this](open_atom, const owner&,
             uint64_t version) -> caf::result<pull_ticket> {
        auto it = script->kept.find(version);
        if (it == script->kept.end())
          return to_caf({ec::not_found, "no such version"});
        auto& what = it->second.what;
        auto chunks = (what.bytes + chunk_bytes - 1) / chunk_bytes;
        return pull_ticket{version, what, chunk_bytes,
                           static_cast<uint32_t>(chunks)};
      },
      [this](chunk_atom, uint64_t ticket, uint32_t index) {
        ++script->chunks;
        auto& data = *script->kept.at(ticket).data;
        auto* bytes = reinterpret_cast<const char*>(data.data());
        std::string whole{bytes, data.size()};
        return weight_chunk{index,
                            whole.substr(index * chunk_bytes, chunk_bytes)};
      },
      [](close_atom, uint64_t) {},
      [](pin_atom, const owner&, uint64_t) {},
      [](unpin_atom, const owner&, uint64_t) {},
    };
  }

  static constexpr uint64_t chunk_bytes = 3;
  weights_script* script;
};

/// A rollout that notes the versions that it is told of.
struct hinted_rollout_state {
  using interface = rollout_actor;

  hinted_rollout_state(rollout_actor::pointer, std::vector<uint64_t>* told)
    : versions(told) {}

  rollout_actor::behavior_type make_behavior() {
    return {
      [](wire_atom, const rollout_wiring&) {},
      [this](available_atom, uint64_t version) {
        versions->push_back(version);
      },
      [](rescore_atom, const rescore_request&) { return rescore_reply{}; },
      [](step_atom) {},
      [](drain_atom, double) {},
    };
  }

  std::vector<uint64_t>* versions;
};

/// A mirror that answers from a list, then that the run is over.
struct scripted_mirror_state {
  using interface = mirror_actor;
  using answers = std::function<caf::result<judged_reply>(uint64_t after)>;

  scripted_mirror_state(mirror_actor::pointer, answers next)
    : next_(std::move(next)) {}

  mirror_actor::behavior_type make_behavior() {
    return {
      [](wire_atom, const mirror_wiring&) {},
      [this](next_atom, uint64_t, uint64_t after) { return next_(after); },
    };
  }

  answers next_;
};

} // namespace swage::test
