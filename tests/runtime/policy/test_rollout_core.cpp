#include "runtime/policy/rollout_core.hpp"

#include <catch2/catch_test_macros.hpp>

#include <numeric>
#include <set>
#include <string>

using namespace swage;

namespace {

rollout_tools make_tools() {
  rollout_tools tools;
  tools.first_prompt = [](const grant&) { return std::vector<int32_t>{1, 2}; };
  tools.next_prompt = [](const grant&, const trajectory& so_far) {
    return std::vector<int32_t>(3 * so_far.turns.size(), 7);
  };
  tools.decode = [](const std::vector<int32_t>& tokens) {
    return "text" + std::to_string(tokens.size());
  };
  tools.encode_response = [](const std::string&) {
    return std::vector<int32_t>{5, 0};
  };
  tools.solutions = [](const task&) {
    return std::vector<std::string>{"direct", "fused"};
  };
  tools.score = [](const verdict& v) { return v.ok() ? 1.0 : -1.0; };
  tools.feedback = [](const verdict& v, uint32_t) {
    return std::string{to_string(v.kind)};
  };
  tools.ret = [](const std::vector<double>& scores) {
    return std::accumulate(scores.begin(), scores.end(), 0.0);
  };
  return tools;
}

grant make_grant(uint64_t item, std::vector<uint32_t> missing,
                 weights_rule rule = weights_rule::at_least,
                 uint64_t version = 0) {
  grant out;
  out.work.id = item;
  out.lease = item * 100;
  out.missing = std::move(missing);
  out.rule = rule;
  out.version = version;
  out.how.max_new_tokens = 100;
  return out;
}

sync_reply grants(std::vector<grant> some, uint64_t newest = 0) {
  sync_reply out;
  out.grants = std::move(some);
  out.newest = newest;
  return out;
}

sequence_output output(uint64_t id) {
  sequence_output out;
  out.id = id;
  out.tokens = {4, 4, 0};
  out.logprobs = {-1, -1, -1};
  out.versions = {{3, 3}};
  return out;
}

verify_reply says(uint64_t id, category kind, uint32_t credit = 1) {
  verify_reply out;
  out.id = id;
  out.outcome.kind = kind;
  out.credit = credit;
  return out;
}

struct fixture {
  rollout_core core{owner{"n", 1, 0}, {4, 64, 3}, make_tools()};
};

uint64_t wish(const fixture& f) {
  auto weights = f.core.wanted_weights();
  REQUIRE(weights);
  return weights->version;
}

} // namespace

TEST_CASE("a sample goes from grant to submission", "[policy][rollout]") {
  fixture f;
  CHECK(f.core.sync().want == 4);
  CHECK(wish(f) == 0);
  f.core.on_weights(0, 0);
  auto out = f.core.on_sync(grants({make_grant(1, {0, 1})}), 10);
  REQUIRE(out.generate.size() == 2);
  CHECK(out.generate[0].seed != out.generate[1].seed);
  CHECK(out.generate[0].how.max_new_tokens == 62); // max_tokens - prompt
  CHECK(f.core.sync().want == 2);
  CHECK(f.core.sync().held == std::vector<uint64_t>{100});
  out = f.core.on_generated({output(out.generate[0].id)}, 11);
  CHECK(out.verify.empty()); // No credit yet.
  out = f.core.on_credit(0, 1);
  REQUIRE(out.verify.size() == 1);
  CHECK(out.verify[0].request.response == "text3");
  out = f.core.on_verdict(0, says(out.verify[0].request.id, category::ok), 12);
  REQUIRE(out.submit.size() == 1);
  auto& sample = out.submit[0].sample;
  CHECK(out.submit[0].lease == 100);
  CHECK(sample.item == 1);
  CHECK(sample.ret == 1);
  CHECK(sample.turns[0].versions[0].version == 3);
  CHECK(sample.hops.granted == 10);
  CHECK(sample.hops.last_token == 11);
  CHECK(sample.hops.verified == 12);
  f.core.on_submitted(1, 0, submit_status::accepted);
  CHECK(f.core.submitting() == 0);
}

TEST_CASE("a sample waits for the version it needs", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(1, 0);
  auto rule = weights_rule::at_least;
  auto out = f.core.on_sync(grants({make_grant(1, {0}, rule, 2)}, 2), 0);
  CHECK(out.generate.empty());
  CHECK(wish(f) == 2);
  CHECK(f.core.on_weights(3, 0).generate.size() == 1);
}

TEST_CASE("an evaluation never mixes with training", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(5, 0);
  auto first = f.core.on_sync(grants({make_grant(1, {0})}, 5), 0);
  REQUIRE(first.generate.size() == 1);
  auto out = f.core.on_sync(
    grants({make_grant(2, {0}, weights_rule::exactly, 3)}, 6), 0);
  CHECK(out.generate.empty());
  CHECK_FALSE(f.core.wanted_weights()); // One is in flight under another rule.
  f.core.on_generated({output(first.generate[0].id)}, 1);
  CHECK(wish(f) == 3);
  auto eval = f.core.on_weights(3, 2);
  REQUIRE(eval.generate.size() == 1);
  f.core.on_sync(grants({make_grant(3, {0})}, 6), 3);
  CHECK_FALSE(f.core.wanted_weights()); // Weights stay while it is evaluated.
  f.core.on_generated({output(eval.generate[0].id)}, 4);
  CHECK(wish(f) == 6);
  CHECK(f.core.on_weights(6, 5).generate.empty()); // Started at 3 already.
}

TEST_CASE("an infra verdict is retried in another pool",
          "[policy][rollout]") {
  fixture f;
  f.core.on_weights(0, 0);
  auto out = f.core.on_sync(grants({make_grant(1, {0})}), 0);
  f.core.on_credit(0, 2);
  out = f.core.on_generated({output(out.generate[0].id)}, 0);
  REQUIRE(out.verify.size() == 1);
  CHECK(out.verify[0].pool == 0);
  f.core.on_credit(1, 1);
  auto id = out.verify[0].request.id;
  out = f.core.on_verdict(0, says(id, category::infra_worker), 0);
  REQUIRE(out.verify.size() == 1);
  CHECK(out.verify[0].pool == 1);
  out = f.core.on_verdict(1, says(id, category::infra_worker), 0);
  REQUIRE(out.verify.size() == 1);
  CHECK(out.verify[0].pool == 0);
  out = f.core.on_verdict(0, says(id, category::infra_worker), 0);
  REQUIRE(out.submit.size() == 1); // Three attempts: uncharged, but submitted.
  CHECK(out.submit[0].sample.turns[0].outcome.kind == category::infra_worker);
}

TEST_CASE("a dead pool's verifications are asked again", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(0, 0);
  auto out = f.core.on_sync(grants({make_grant(1, {0, 1})}), 0);
  f.core.on_credit(0, 2);
  out = f.core.on_generated(
    {output(out.generate[0].id), output(out.generate[1].id)}, 0);
  REQUIRE(out.verify.size() == 2);
  CHECK(f.core.on_pool_down(0).verify.empty());
  CHECK(f.core.on_credit(1, 2).verify.size() == 2);
  // The dead pool's late answer belongs to nobody.
  auto late = f.core.on_verdict(0, says(out.verify[0].request.id,
                                        category::ok, 0), 0);
  CHECK(late.submit.empty());
}

TEST_CASE("a failure gets another turn with feedback", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(0, 0);
  auto two = make_grant(1, {0});
  two.max_turns = 2;
  auto out = f.core.on_sync(grants({two}), 0);
  f.core.on_credit(0, 1);
  out = f.core.on_generated({output(out.generate[0].id)}, 0);
  auto id = out.verify[0].request.id;
  out = f.core.on_verdict(0, says(id, category::compile_compiler), 0);
  CHECK(out.submit.empty());
  REQUIRE(out.generate.size() == 1);
  CHECK(out.generate[0].prompt.size() == 3);
  out = f.core.on_generated({output(out.generate[0].id)}, 0);
  REQUIRE(out.verify.size() == 1);
  out = f.core.on_verdict(0, says(id, category::ok), 0);
  REQUIRE(out.submit.size() == 1);
  CHECK(out.submit[0].sample.turns.size() == 2);
  CHECK(out.submit[0].sample.turns[0].feedback == "compile_error:compiler");
  CHECK(out.submit[0].sample.ret == 0);
}

TEST_CASE("a success ends a trajectory at once", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(0, 0);
  auto two = make_grant(1, {0});
  two.max_turns = 3;
  auto out = f.core.on_sync(grants({two}), 0);
  f.core.on_credit(0, 1);
  out = f.core.on_generated({output(out.generate[0].id)}, 0);
  out = f.core.on_verdict(
    0, says(out.verify[0].request.id, category::ok), 0);
  REQUIRE(out.submit.size() == 1);
  CHECK(out.submit[0].sample.turns.size() == 1);
}

TEST_CASE("a cancelled lease ends its verification", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(0, 0);
  auto out = f.core.on_sync(grants({make_grant(1, {0, 1})}), 10);
  f.core.on_credit(3, 1);
  auto id = out.generate[0].id;
  REQUIRE(f.core.on_generated({output(id)}, 11).verify.size() == 1);
  sync_reply cancel;
  cancel.cancelled = {100};
  out = f.core.on_sync(cancel, 12);
  REQUIRE(out.cancel_verify.size() == 1);
  CHECK(out.cancel_verify[0].pool == 3);
  CHECK(out.cancel_verify[0].id == id);
  CHECK(out.cancel.size() == 1); // The other one was being decoded.
  // A verdict that crossed it is of nobody; its credit counts.
  CHECK(f.core.on_verdict(3, says(id, category::ok), 13).submit.empty());
  CHECK(f.core.unused_credit(3) == 1);
}

TEST_CASE("a cancelled lease ends its decoding", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(0, 0);
  auto out = f.core.on_sync(grants({make_grant(1, {0})}), 0);
  auto id = out.generate[0].id;
  sync_reply cancel;
  cancel.cancelled = {100};
  out = f.core.on_sync(cancel, 0);
  CHECK(out.cancel == std::vector<uint64_t>{id});
  CHECK(f.core.on_generated({output(id)}, 0).verify.empty());
  CHECK(f.core.idle());
}

TEST_CASE("synthesised examples skip the policy", "[policy][rollout]") {
  fixture f;
  auto out = f.core.on_sync(
    grants({make_grant(1, {0, 1, 2}, weights_rule::none)}), 0);
  CHECK(out.generate.empty());
  out = f.core.on_credit(0, 5);
  REQUIRE(out.verify.size() == 3);
  auto text = [&](size_t i) { return out.verify[i].request.response; };
  CHECK(text(0) != text(1));
  CHECK(text(2) == text(0)); // There is no third solution.
}

TEST_CASE("the run's seed orders a task's solutions", "[policy][rollout]") {
  std::set<std::string> first;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    fixture f;
    auto work = make_grant(1, {0}, weights_rule::none);
    work.how.seed = seed;
    f.core.on_credit(0, 1);
    auto out = f.core.on_sync(grants({work}), 0);
    REQUIRE(out.verify.size() == 1);
    first.insert(out.verify[0].request.response);
  }
  CHECK(first == std::set<std::string>{"direct", "fused"});
}

TEST_CASE("a lost submission is sent again until answered",
          "[policy][rollout]") {
  fixture f;
  f.core.on_credit(0, 1);
  auto out = f.core.on_sync(
    grants({make_grant(1, {0}, weights_rule::none)}), 0);
  out = f.core.on_verdict(
    0, says(out.verify[0].request.id, category::ok), 0);
  REQUIRE(out.submit.size() == 1);
  CHECK(f.core.on_submit_lost(1, 0).submit.size() == 1);
  CHECK(f.core.on_submitted(1, 0, submit_status::journal_full).submit.size()
        == 1);
  CHECK(f.core.on_submitted(1, 0, submit_status::duplicate).submit.empty());
  CHECK(f.core.idle());
}

TEST_CASE("a slow verifier stops the asking for work", "[policy][rollout]") {
  fixture f;
  f.core.on_weights(0, 0);
  for (uint64_t item = 1; item <= 8; ++item) {
    auto out = f.core.on_sync(grants({make_grant(item, {0})}), 0);
    f.core.on_generated({output(out.generate[0].id)}, 0);
  }
  CHECK(f.core.judging() == 8);
  CHECK(f.core.sync().want == 0);
}

TEST_CASE("a draining rollout asks for nothing more", "[policy][rollout]") {
  fixture f;
  sync_reply drain;
  drain.draining = true;
  f.core.on_sync(drain, 0);
  CHECK(f.core.sync().want == 0);
}
