#include "fixture.hpp"

#include "runtime/buffer/record.hpp"
#include "runtime/buffer/sqlite_journal.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <unistd.h>

using namespace swage;
using namespace swage::test;

namespace {

/// A short run of RL and evaluation, recorded in a real database.
class recorded_run {
public:
  recorded_run() {
    folder_ = std::filesystem::temp_directory_path()
              / fmt::format("swage-record-{}", ::getpid());
    std::filesystem::create_directories(folder_);
    auto how = small_config({"rl-single", "eval"});
    how.learner.steps = 1;
    auto opened = sqlite_journal::open(path());
    REQUIRE(opened);
    auto core = buffer_core::open(std::move(*opened), how, small_sets(), 0);
    REQUIRE(core);
    core_ = std::move(*core);
    reinforce();
    evaluate();
  }
  ~recorded_run() {
    core_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path path() const { return folder_ / "run.db"; }

private:
  void submit(const grant& one, uint32_t index, double score) {
    auto what = sample(one.work.id, index, score, one.version);
    what.hops = {100, 101, 103, 106, 110, 0};
    REQUIRE(core_->submit(bench::rollout, one.lease, what, 0)
            == submit_status::accepted);
  }

  void reinforce() {
    auto epoch = core_->attach(bench::learner, 0)->epoch;
    auto grants = core_->sync({bench::rollout, {}, 6, 0}, 0).grants;
    REQUIRE(grants.size() == 3);
    submit(grants[0], 0, 1.5);
    submit(grants[0], 1, -1);
    submit(grants[1], 0, 1.1);
    submit(grants[1], 1, -0.4);
    submit(grants[2], 0, -1);
    core_->submit(bench::rollout, grants[2].lease,
                  infra_sample(grants[2].work.id, 1), 0);
    auto what = core_->next_batch(epoch, 0, 0).what;
    std::vector<judgement> all;
    for (auto& one : what.members)
      all.push_back({1, one.item, one.index, 0.1 * (1 + one.index), 0, 0.01, 0,
                     one.index == 0});
    drift_report drift;
    drift.step = 1;
    drift.mean_abs_p90 = 0.2;
    drift.delta = 0.15;
    drift.masked_negative = 2;
    REQUIRE(core_->judged(epoch, all, drift, 115));
    step_report report;
    report.step = 1;
    report.loss = 0.5;
    report.wait_s = 100;
    report.train_s = 4;
    report.publish_s = 1;
    report.stepped = true;
    REQUIRE(core_->commit(epoch, report, 0));
    REQUIRE(core_->flush());
  }

  void evaluate() {
    auto grants = core_->sync({bench::rollout, {}, 4, 1}, 0).grants;
    for (auto& one : grants) {
      submit(one, 0, 1.25);
      if (&one != &grants.back())
        submit(one, 1, -1);
    }
    auto& last = grants.back();
    auto lost = sample(last.work.id, 1, -1, last.version);
    lost.turns[0].outcome.kind = category::infra_timeout;
    core_->submit(bench::rollout, last.lease, lost, 0);
    REQUIRE(core_->flush());
    REQUIRE(core_->over());
  }

  std::filesystem::path folder_;
  std::unique_ptr<buffer_core> core_;
};

} // namespace

TEST_CASE("a run answers what a person asks of it", "[buffer][record]") {
  recorded_run run;
  // The writer still has it open: inspecting a live run works.
  auto opened = run_record::open(run.path());
  REQUIRE(opened);
  auto& record = *opened;

  auto outline = record.outline();
  REQUIRE(outline);
  CHECK(outline->stages == 2);
  CHECK(outline->ended.empty());
  CHECK_FALSE(outline->saved);

  auto stages = record.stages();
  REQUIRE(stages);
  REQUIRE(stages->size() == 2);
  CHECK(stages->at(0).name == "rl-single");
  CHECK(stages->at(0).samples == 6);
  CHECK(stages->at(0).committed == 1);
  CHECK(stages->at(0).trained_s == 5);
  CHECK(stages->at(1).version == 1);
  CHECK(stages->at(1).over);

  auto best = record.best_kernels();
  REQUIRE(best);
  REQUIRE(!best->empty());
  CHECK(best->front().speedup == 2);
  CHECK(best->front().response.starts_with("kernel"));
  for (size_t i = 1; i < best->size(); ++i)
    CHECK(best->at(i - 1).speedup >= best->at(i).speedup);

  auto categories = record.categories();
  REQUIRE(categories);
  std::map<std::string, uint64_t> rl;
  for (auto& one : *categories)
    if (one.stage == 0)
      rl[one.category] = one.samples;
  CHECK(rl["ok"] == 2);
  CHECK(rl["compile_error:compiler"] == 2);
  CHECK(rl["correctness_error:tolerance"] == 1);
  CHECK(rl["infra:timeout"] == 1);

  auto masked = record.masked(10);
  REQUIRE(masked);
  REQUIRE(masked->size() == 2);
  CHECK(masked->front().what.step == 1);
  CHECK(masked->front().what.mean_abs == 0.2);
  CHECK(masked->front().delta == 0.15);

  auto drift = record.drift();
  REQUIRE(drift);
  REQUIRE(drift->size() == 1);
  CHECK(drift->front().masked_negative == 2);
  CHECK(drift->front().mean_abs_p90 == 0.2);

  auto batches = record.batches();
  REQUIRE(batches);
  REQUIRE(batches->size() == 1);
  CHECK(batches->front().report.loss == 0.5);
  CHECK(batches->front().report.kind == stage_kind::rl_single);
}

TEST_CASE("an evaluation is there sample by sample", "[buffer][record]") {
  recorded_run run;
  auto record = run_record::open(run.path());
  REQUIRE(record);
  auto rows = record->evaluation(1);
  REQUIRE(rows);
  REQUIRE(rows->size() == 4);
  CHECK(rows->at(0).task == "held0");
  CHECK(rows->at(0).level == 1);
  CHECK(rows->at(0).success);
  CHECK(rows->at(0).speedup == 1.5);
  CHECK_FALSE(rows->at(1).success);
  CHECK(rows->at(1).speedup < 0);
  CHECK(rows->at(0).version == 1);
  CHECK_FALSE(rows->at(1).dropped);
  CHECK(rows->at(3).dropped);
  CHECK(rows->at(3).category == "infra:timeout");
  CHECK(record->evaluation(0)->empty());
}

TEST_CASE("time and staleness are split by hop", "[buffer][record]") {
  recorded_run run;
  auto record = run_record::open(run.path());
  REQUIRE(record);
  auto hops = record->hops();
  REQUIRE(hops);
  std::map<std::string, hop_record> rl;
  for (auto& one : *hops)
    if (one.stage == 0)
      rl[one.hop] = one;
  CHECK(rl.at("queue").p50 == 1);
  CHECK(rl.at("decode").p50 == 2);
  CHECK(rl.at("verify").mean == 3);
  CHECK(rl.at("store").max == 4);
  CHECK(rl.at("wait").p90 == 5);
  CHECK(rl.at("wait").samples == 4);
  CHECK(rl.at("total").max == 0);
  CHECK(rl.at("wait").unit == "s");
  CHECK(rl.at("total").unit == "versions");
  auto states = record->states();
  REQUIRE(states);
  bool infra = false;
  for (auto& one : *states)
    infra |= one.stage == 0 && one.reason == "infra" && one.items == 1;
  CHECK(infra);
}

TEST_CASE("a folder without a run is said to have none", "[buffer][record]") {
  auto opened = run_record::open("/proc/none/run.db");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::not_found);
}
