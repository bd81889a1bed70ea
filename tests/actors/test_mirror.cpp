#include "actors/mirror.hpp"

#include "tests/support/counting_policy.hpp"
#include "tests/support/scripted_actors.hpp"
#include "tests/support/simulation.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace swage;
using Catch::Approx;

namespace {

/// Counts how often it scores.
class counting_scorer : public test::constant_scorer {
public:
  using constant_scorer::constant_scorer;

  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float t) override {
    ++scored;
    return constant_scorer::score(sequences, t);
  }

  int scored = 0;
};

/// A rollout with other weights by now; sees whether it had to score first.
struct refusing_rollout_state {
  using interface = rollout_actor;

  refusing_rollout_state(interface::pointer, std::function<void()> asked)
    : asked(std::move(asked)) {}

  interface::behavior_type make_behavior() {
    return {
      [](wire_atom, const rollout_wiring&) {},
      [](available_atom, uint64_t) {},
      [this](rescore_atom,
             const rescore_request&) -> caf::result<rescore_reply> {
        asked();
        return to_caf({ec::stale, "this rollout has other weights"});
      },
      [](step_atom) {},
      [](drain_atom, double) {},
    };
  }

  std::function<void()> asked;
};

struct fixture {
  explicit fixture(const std::string& mask = "mirrorpop") {
    settings.learner.seq_mask = mask;
    settings.learner.seq_mask_delta = 0.1;
    buffer = sim.sys.spawn<actor_of<test::scripted_buffer_state>>(&script);
    weights
      = sim.sys.spawn<actor_of<test::scripted_publisher_state>>(&published);
    mirror = sim.sys.spawn<actor_of<mirror_state>>(
      mirror_parts{scorer, settings, std::make_shared<progress_counter>(),
                   [this](const drift_report& one) { seen.push_back(one); }});
    sim.tell(mirror, wire_atom_v, mirror_wiring{1, buffer, weights, {}});
    published.kept[4] = test::tiny_snapshot(4);
  }

  void add(uint32_t index, float behaviour, uint64_t version) {
    trajectory sample;
    sample.item = 9;
    sample.index = index;
    sample.ret = index == 0 ? 1 : -1;
    sample.turns.resize(1);
    auto& one = sample.turns[0];
    one.response = {1, 2, 3};
    one.logprobs = {behaviour, behaviour, behaviour};
    one.versions = {{version, 3}};
    script.samples[{9, index}] = sample;
    what.members.push_back({9, index, item_kind::task});
  }

  void serve(next_status status = next_status::ready) {
    what.step = 5;
    script.next = [this, status](uint64_t, uint64_t) {
      return next_reply{status, what};
    };
  }

  test::buffer_script script;
  test::weights_script published;
  config settings;
  batch what;
  std::vector<drift_report> seen;
  test::simulation sim;
  std::shared_ptr<counting_scorer> scorer
    = std::make_shared<counting_scorer>(-1.f);
  buffer_actor buffer;
  publisher_actor weights;
  mirror_actor mirror;
};

} // namespace

TEST_CASE("samples that drifted are masked and recorded",
          "[actors][mirror]") {
  fixture f;
  f.add(0, -1.02f, 4); // Close to the scorer's -1.
  f.add(1, -1.5f, 3);  // Half a nat away.
  f.serve();
  auto reply = f.sim.ask<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                       uint64_t{4});
  REQUIRE(reply.status == next_status::ready);
  REQUIRE(reply.what.judgements.size() == 2);
  auto& kept = reply.what.judgements[0];
  auto& masked = reply.what.judgements[1];
  CHECK(kept.kept);
  CHECK(kept.mean_abs == Approx(0.02).epsilon(1e-3));
  CHECK(kept.staleness == 0);
  CHECK_FALSE(masked.kept);
  CHECK(masked.mean_signed == Approx(0.5));
  CHECK(masked.staleness == 1);
  CHECK(masked.item == 9);
  CHECK(masked.index == 1);
  REQUIRE(f.script.judged.size() == 1);
  CHECK(f.script.judged[0].judgements.size() == 2);
  CHECK(f.script.judged[0].drift.masked_negative == 1);
  CHECK(f.script.judged[0].drift.floor == 0); // Nothing was measured before.
  REQUIRE(f.seen.size() == 1);
  CHECK(f.seen[0].step == 5);
}

TEST_CASE("token weights are judged, recorded and handed on",
          "[actors][mirror]") {
  fixture f{"icepop"};
  f.add(0, -1.5f, 4); // rho = exp(0.5), in the window.
  f.add(1, -9.f, 4);  // rho = exp(8), no token of it is.
  f.script.samples[{9, 0}].turns[0].logprobs[1] = -4; // exp(3) is not.
  f.serve();
  auto reply = f.sim.ask<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                       uint64_t{4});
  REQUIRE(reply.what.judgements.size() == 2);
  auto& some = reply.what.judgements[0];
  REQUIRE(some.weights.size() == 3);
  CHECK(some.weights[0] == Approx(std::exp(0.5)));
  CHECK(some.weights[1] == 0);
  CHECK(some.kept);
  CHECK_FALSE(reply.what.judgements[1].kept);
  REQUIRE(f.script.judged.size() == 1);
  CHECK(f.script.judged[0].judgements[0].weights == some.weights);
  REQUIRE(f.seen.size() == 1);
  CHECK(f.seen[0].tokens == 6);
  CHECK(f.seen[0].masked_tokens == 4);
}

TEST_CASE("the mirror scores while a rollout rescores", "[actors][mirror]") {
  fixture f;
  f.add(0, -1.02f, 4);
  f.serve();
  std::vector<int> scored_before;
  auto rollout = f.sim.sys.spawn<actor_of<refusing_rollout_state>>(
    [&] { scored_before.push_back(f.scorer->scored); });
  f.sim.tell(f.mirror, wire_atom_v,
             mirror_wiring{2, f.buffer, f.weights, {rollout}});
  auto reply = f.sim.ask<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                       uint64_t{4});
  CHECK(reply.what.judgements.size() == 1);
  CHECK(scored_before == std::vector<int>{1});
  CHECK(f.scorer->scored == 1);
}

TEST_CASE("a redo keeps its recorded judgements", "[actors][mirror]") {
  fixture f;
  f.add(0, -9.f, 0);
  judgement recorded;
  recorded.step = 5;
  recorded.item = 9;
  recorded.kept = true;
  recorded.weights = {1, 0, 2};
  f.what.recorded = {recorded};
  f.serve();
  auto reply = f.sim.ask<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                       uint64_t{4});
  REQUIRE(reply.what.judgements.size() == 1);
  CHECK(reply.what.judgements[0].kept); // Judged anew it would be masked.
  CHECK(reply.what.judgements[0].weights == recorded.weights);
  CHECK(f.script.judged.empty());
}

TEST_CASE("examples pass the mirror unjudged", "[actors][mirror]") {
  fixture f;
  f.add(0, -9.f, 0);
  f.what.kind = stage_kind::sft;
  f.serve();
  auto reply = f.sim.ask<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                       uint64_t{4});
  CHECK(reply.what.judgements.empty());
  CHECK(reply.what.samples.size() == 1);
  CHECK(f.script.judged.empty());
}

TEST_CASE("nothing, an end and a fence pass through", "[actors][mirror]") {
  fixture f;
  for (auto status : {next_status::nothing, next_status::stage_over,
                      next_status::run_over, next_status::fenced}) {
    f.serve(status);
    auto reply = f.sim.ask<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                         uint64_t{4});
    CHECK(reply.status == status);
  }
}

TEST_CASE("a missing sample is an error, not a hang", "[actors][mirror]") {
  fixture f;
  f.add(0, -1.f, 4);
  f.script.samples.clear();
  f.serve();
  auto reason = f.sim.refused<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                            uint64_t{4});
  CHECK(reason.code == ec::not_found);
}

TEST_CASE("a missing snapshot is an error, not a hang", "[actors][mirror]") {
  fixture f;
  f.published.kept.clear();
  f.add(0, -1.f, 4);
  f.serve();
  auto reason = f.sim.refused<judged_reply>(f.mirror, next_atom_v, uint64_t{1},
                                            uint64_t{4});
  CHECK(reason.code == ec::not_found);
}
