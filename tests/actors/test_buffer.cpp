#include "actors/buffer.hpp"
#include "runtime/buffer/memory_journal.hpp"
#include "tests/support/simulation.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace swage;

namespace {

struct counting_journal : memory_journal {
  uint32_t commits = 0;
  result<double> commit() override {
    ++commits;
    return memory_journal::commit();
  }
};

config small_config() {
  config out;
  out.run.stages = {"rl-single"};
  out.rollout.group_size = 2;
  out.buffer.groups_per_batch = 2;
  out.buffer.max_staleness = 1; // So 4 items are outstanding at most.
  out.buffer.retry_probability = 0;
  out.buffer.poll_hold_s = 2;
  out.buffer.lease_ttl_s = 60;
  out.learner.steps = 3;
  return out;
}

task_sets some_tasks() {
  task_sets out;
  for (int i = 0; i < 8; ++i) {
    task one;
    one.id = "task-" + std::to_string(i);
    one.reference = "class Model: pass";
    out.train.push_back(one);
  }
  return out;
}

trajectory make_trajectory(uint64_t item, uint32_t index, double score) {
  turn one;
  one.prompt = {1, 2};
  one.response = {3, 4};
  one.logprobs = {-1, -1};
  one.versions = {{0, 2}};
  one.text = "code";
  one.outcome.kind = score >= 1 ? category::ok : category::runtime_crash;
  one.score = score;
  trajectory out;
  out.item = item;
  out.index = index;
  out.turns = {one};
  out.ret = score;
  return out;
}

/// A rollout that syncs when told and remembers what it got.
struct holder_state {
  using interface = slot_actor;
  interface::pointer self;
  mailbox<interface::base> mail;
  buffer_actor buffer;
  sync_request ask;
  std::vector<sync_reply>* log;

  holder_state(interface::pointer self, buffer_actor buffer, sync_request ask,
               std::vector<sync_reply>* log)
    : self(self), mail(self), buffer(std::move(buffer)), ask(std::move(ask)),
      log(log) {}

  interface::behavior_type make_behavior() {
    return {[this](verify_atom, slot_job&) {
      mail.ask(
        buffer, 10, [this](sync_reply& x) { log->push_back(x); },
        [](const error&) {}, sync_atom_v, ask);
      return verdict{};
    }};
  }
};

struct fixture {
  test::simulation sim;
  counting_journal* journal = nullptr;
  buffer_actor buffer;
  const owner a{"a", 1, 0}, b{"b", 1, 0};

  explicit fixture(config settings = small_config()) {
    auto where = std::make_unique<counting_journal>();
    journal = where.get();
    auto core = buffer_core::open(std::move(where), settings, some_tasks(), 0);
    REQUIRE(core);
    buffer_parts parts;
    parts.core = std::move(*core);
    parts.poll_hold_s = settings.buffer.poll_hold_s;
    parts.wall_clock = [] { return 1e9; };
    buffer = sim.sys.spawn<actor_of<buffer_state>>(parts);
    sim.run();
  }

  sync_request request_of(const owner& who, uint32_t want,
                          std::vector<uint64_t> held = {}) {
    sync_request out;
    out.from = who;
    out.want = want;
    out.held = std::move(held);
    return out;
  }

  sync_reply sync(const owner& who, uint32_t want,
                  std::vector<uint64_t> held = {}) {
    return sim.ask<sync_reply>(buffer, sync_atom_v,
                               request_of(who, want, std::move(held)));
  }

  submit_status submit(const owner& who, uint64_t lease, uint64_t item,
                       uint32_t index, double score) {
    return sim.ask<submit_status>(buffer, submit_atom_v, who, lease,
                                  make_trajectory(item, index, score));
  }

  /// Submits all that is missing of a grant, with spread.
  void complete(const owner& who, const grant& one) {
    for (auto index : one.missing)
      CHECK(submit(who, one.lease, one.work.id, index, index == 0 ? 1.2 : -1)
            == submit_status::accepted);
  }
};

} // namespace

TEST_CASE("a sample sent twice is stored once", "[actors][buffer]") {
  fixture f;
  auto reply = f.sync(f.a, 2);
  REQUIRE(reply.grants.size() == 1);
  auto& one = reply.grants[0];
  CHECK(one.missing == std::vector<uint32_t>{0, 1});
  CHECK(f.submit(f.a, one.lease, one.work.id, 0, 1)
        == submit_status::accepted);
  CHECK(f.journal->samples().size() == 1);
  CHECK(f.submit(f.a, one.lease, one.work.id, 0, -1)
        == submit_status::duplicate);
  CHECK(f.submit(f.a, one.lease + 1, one.work.id, 1, 1)
        == submit_status::superseded);
  CHECK(f.journal->samples().size() == 1);
}

TEST_CASE("messages that wait together share one transaction",
          "[actors][buffer]") {
  fixture f;
  auto grants = f.sync(f.a, 4).grants;
  REQUIRE(grants.size() == 2);
  auto before = f.journal->commits;
  auto send = [&](size_t grant, uint32_t index) {
    auto& one = grants[grant];
    return f.sim.start(f.buffer, submit_atom_v, f.a, one.lease,
                       make_trajectory(one.work.id, index, index ? 1 : -1));
  };
  auto p0 = send(0, 0), p1 = send(0, 1), p2 = send(1, 0), p3 = send(1, 1);
  f.sim.run();
  CHECK(f.sim.taken<submit_status>(p0) == submit_status::accepted);
  CHECK(f.sim.taken<submit_status>(p1) == submit_status::accepted);
  CHECK(f.sim.taken<submit_status>(p2) == submit_status::accepted);
  CHECK(f.sim.taken<submit_status>(p3) == submit_status::accepted);
  CHECK(f.journal->commits == before + 1);
}

TEST_CASE("a full disk refuses and then goes on", "[actors][buffer]") {
  fixture f;
  auto one = f.sync(f.a, 2).grants.at(0);
  f.journal->full = true;
  CHECK(f.submit(f.a, one.lease, one.work.id, 0, 1)
        == submit_status::journal_full);
  auto waiting = f.sim.start(f.buffer, sync_atom_v, f.request_of(f.b, 2));
  f.sim.advance(3);
  CHECK(f.sim.taken<sync_reply>(waiting).grants.empty());
  f.journal->full = false;
  f.sim.advance(2);
  CHECK(f.submit(f.a, one.lease, one.work.id, 0, 1)
        == submit_status::accepted);
  CHECK(f.sync(f.b, 2).grants.size() == 1);
}

TEST_CASE("a request for work is held, not for ever", "[actors][buffer]") {
  fixture f;
  REQUIRE(f.sync(f.a, 8).grants.size() == 4);
  auto waiting = f.sim.start(f.buffer, sync_atom_v, f.request_of(f.b, 2));
  f.sim.advance(1.5);
  CHECK_FALSE(f.sim.has_answer());
  f.sim.advance(1);
  CHECK(f.sim.taken<sync_reply>(waiting).grants.empty());
}

TEST_CASE("the work of a dead owner goes to another", "[actors][buffer]") {
  fixture f;
  std::vector<sync_reply> log;
  auto dying = f.sim.sys.spawn<actor_of<holder_state>>(
    f.buffer, f.request_of(f.a, 8), &log);
  f.sim.ask<verdict>(dying, verify_atom_v, slot_job{});
  REQUIRE(log.size() == 1);
  REQUIRE(log[0].grants.size() == 4);
  auto& first = log[0].grants[0];
  CHECK(f.submit(f.a, first.lease, first.work.id, 1, 1)
        == submit_status::accepted);
  auto waiting = f.sim.start(f.buffer, sync_atom_v, f.request_of(f.b, 1));
  f.sim.advance(0.5);
  CHECK_FALSE(f.sim.has_answer());
  f.sim.kill(dying);
  auto reply = f.sim.taken<sync_reply>(waiting);
  REQUIRE(reply.grants.size() == 1);
  CHECK(reply.grants[0].work.id == first.work.id);
  CHECK(reply.grants[0].missing == std::vector<uint32_t>{0});
  CHECK(f.submit(f.a, first.lease, first.work.id, 0, 1)
        == submit_status::superseded);
}

TEST_CASE("a held request dies with its owner", "[actors][buffer]") {
  fixture f;
  REQUIRE(f.sync(f.b, 8).grants.size() == 4);
  std::vector<sync_reply> log;
  auto dying = f.sim.sys.spawn<actor_of<holder_state>>(
    f.buffer, f.request_of(f.a, 8), &log);
  f.sim.ask<verdict>(dying, verify_atom_v, slot_job{});
  f.sim.kill(dying);
  f.sync(f.b, 0); // Gives everything back.
  CHECK(f.sync({"c", 1, 0}, 8).grants.size() == 4);
}

TEST_CASE("a silent owner's leases end with their time",
          "[actors][buffer]") {
  fixture f;
  auto grants = f.sync(f.a, 8).grants;
  REQUIRE(grants.size() == 4);
  std::vector<uint64_t> held;
  for (auto& one : grants)
    held.push_back(one.lease);
  f.sim.advance(40);
  CHECK(f.sync(f.a, 0, held).cancelled.empty());
  f.sim.advance(40);
  auto waiting = f.sim.start(f.buffer, sync_atom_v, f.request_of(f.b, 1));
  f.sim.advance(1);
  CHECK_FALSE(f.sim.has_answer());
  f.sim.advance(2);
  CHECK(f.sim.taken<sync_reply>(waiting).grants.empty());
  f.sim.advance(25);
  CHECK(f.sync(f.b, 1).grants.size() == 1);
  CHECK(f.sync(f.a, 0, held).cancelled.size() == 1);
}

TEST_CASE("an answer that was lost costs nothing", "[actors][buffer]") {
  fixture f;
  auto lost = f.sync(f.a, 2).grants.at(0);
  auto again = f.sync(f.a, 2).grants.at(0);
  CHECK(again.work.id == lost.work.id);
  CHECK(again.lease != lost.lease);
  CHECK(f.submit(f.a, lost.lease, lost.work.id, 0, 1)
        == submit_status::superseded);
  f.complete(f.a, again);
}

TEST_CASE("a batch is waited for and delivered again", "[actors][buffer]") {
  fixture f;
  auto attached = f.sim.ask<attach_reply>(f.buffer, attach_atom_v, f.b);
  CHECK(attached.last_batch == 0);
  auto grants = f.sync(f.a, 4).grants;
  auto waiting = f.sim.start(f.buffer, next_batch_atom_v, attached.epoch,
                             uint64_t{0});
  f.sim.run();
  f.complete(f.a, grants.at(0));
  f.complete(f.a, grants.at(1));
  auto reply = f.sim.taken<next_reply>(waiting);
  REQUIRE(reply.status == next_status::ready);
  CHECK(reply.what.step == 1);
  CHECK(reply.what.members.size() == 4);
  auto sample = f.sim.ask<trajectory>(f.buffer, fetch_atom_v,
                                      reply.what.members[0].item, 0u);
  CHECK(sample.hops.stored == 1e9);

  SECTION("to the same learner, if the answer was lost") {
    auto again = f.sim.ask<next_reply>(f.buffer, next_batch_atom_v,
                                       attached.epoch, uint64_t{0});
    CHECK(again.what.hash == reply.what.hash);
  }
  SECTION("to the next learner, while the old one is fenced") {
    auto next = f.sim.ask<attach_reply>(f.buffer, attach_atom_v, f.a);
    CHECK(next.last_batch == 1);
    step_report report;
    report.step = 1;
    CHECK(f.sim.refused<void>(f.buffer, commit_atom_v, attached.epoch, report)
            .code
          == ec::fenced);
    auto again = f.sim.ask<next_reply>(f.buffer, next_batch_atom_v, next.epoch,
                                       uint64_t{0});
    CHECK(again.what.hash == reply.what.hash);
    f.sim.tell(f.buffer, commit_atom_v, next.epoch, report);
    f.sim.tell(f.buffer, commit_atom_v, next.epoch, report);
    auto status = f.sim.ask<buffer_status>(f.buffer, progress_atom_v);
    CHECK(status.progress.last_committed == 1);
  }
}

TEST_CASE("without samples the learner hears nothing in time",
          "[actors][buffer]") {
  fixture f;
  auto epoch = f.sim.ask<attach_reply>(f.buffer, attach_atom_v, f.b).epoch;
  auto waiting
    = f.sim.start(f.buffer, next_batch_atom_v, epoch, uint64_t{0});
  f.sim.advance(1.5);
  CHECK_FALSE(f.sim.has_answer());
  f.sim.advance(1);
  CHECK(f.sim.taken<next_reply>(waiting).status == next_status::nothing);
}

TEST_CASE("a commit tells a waiting rollout at once", "[actors][buffer]") {
  fixture f;
  auto epoch = f.sim.ask<attach_reply>(f.buffer, attach_atom_v, f.b).epoch;
  auto grants = f.sync(f.a, 8).grants;
  for (auto& one : grants)
    f.complete(f.a, one);
  auto batch = f.sim.ask<next_reply>(f.buffer, next_batch_atom_v, epoch,
                                     uint64_t{0});
  REQUIRE(batch.status == next_status::ready);
  auto waiting = f.sim.start(f.buffer, sync_atom_v, f.request_of(f.a, 2));
  f.sim.advance(0.5);
  CHECK_FALSE(f.sim.has_answer());
  step_report report;
  report.step = 1;
  f.sim.tell(f.buffer, commit_atom_v, epoch, report);
  auto reply = f.sim.taken<sync_reply>(waiting);
  CHECK(reply.newest == 1);
  CHECK(reply.grants.size() == 1);
}

TEST_CASE("draining lets everyone go at once", "[actors][buffer]") {
  fixture f;
  auto epoch = f.sim.ask<attach_reply>(f.buffer, attach_atom_v, f.b).epoch;
  REQUIRE(f.sync(f.a, 8).grants.size() == 4);
  auto rollout = f.sim.start(f.buffer, sync_atom_v, f.request_of(f.b, 2));
  auto learner
    = f.sim.start(f.buffer, next_batch_atom_v, epoch, uint64_t{0});
  f.sim.advance(0.1);
  CHECK_FALSE(f.sim.has_answer());
  f.sim.tell(f.buffer, drain_atom_v, std::string{});
  CHECK(f.sim.taken<sync_reply>(rollout).draining);
  CHECK(f.sim.taken<next_reply>(learner).status == next_status::run_over);
}
