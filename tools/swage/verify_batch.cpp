#include "tools/swage/verify_batch.hpp"

#include "runtime/verify/start_engine.hpp"
#include "tools/swage/activity.hpp"
#include "tools/swage/batch_file.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/stop_signals.hpp"
#include "tools/swage/terminal_progress.hpp"
#include "tools/swage/verdict_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace swage {

namespace {

/// Where verdicts are written, a line at a time, and counted.
class verdict_writer {
public:
  static result<std::unique_ptr<verdict_writer>>
  open(const std::filesystem::path& out, size_t total) {
    std::FILE* to = out.empty() ? stdout : std::fopen(out.c_str(), "ae");
    if (to == nullptr)
      return fail(ec::invalid_argument,
                  fmt::format("--out {}: {}", out.string(),
                              std::strerror(errno)));
    return std::unique_ptr<verdict_writer>{
      new verdict_writer{to, total}};
  }

  ~verdict_writer() {
    if (to_ != stdout)
      std::fclose(to_);
  }

  verdict_writer(const verdict_writer&) = delete;
  verdict_writer& operator=(const verdict_writer&) = delete;

  /// Shows that the first one is at work.
  void begin() { shown_.update(0, total_); }

  void add(const std::string& line, const verdict& what) {
    std::lock_guard lock{mutex_};
    fmt::print(to_, "{}\n", line);
    if (std::fflush(to_) != 0)
      written_ = false;
    ++done_;
    ok_ += what.ok() ? 1 : 0;
    not_judged_ += is_uncharged(what.kind)
                     && what.kind != category::task_invalid;
    cached_ += what.cached ? 1 : 0;
    shown_.update(done_, total_, fmt::format("{} ok", ok_), cached_);
  }

  size_t done() const { return done_; }
  size_t not_judged() const { return not_judged_; }
  /// False once lines cannot be written.
  bool written() const { return written_; }

private:
  verdict_writer(std::FILE* to, size_t total)
    : to_{to}, total_{total} {}

  std::FILE* to_;
  size_t total_, done_ = 0, ok_ = 0, cached_ = 0, not_judged_ = 0;
  std::atomic<bool> written_ = true;
  terminal_progress shown_{"verify", "candidates"};
  std::mutex mutex_;
};

/// The tasks of a batch as one engine knows them.
class loaded_tasks {
public:
  loaded_tasks(engine& judge, const std::vector<task>& all)
    : judge_{judge}, all_{all} {}

  verdict verify(const batch_row& row, const std::stop_token& stop) {
    auto [known, fresh] = loaded_.try_emplace(row.task);
    if (fresh)
      known->second = judge_.load(all_[row.task]);
    if (known->second) {
      candidate who{row.id, row.candidate};
      auto out = judge_.verify(*known->second, who, stop);
      if (is_transient(out.kind) && !stop.stop_requested())
        out = judge_.verify(*known->second, who, stop);
      return out;
    }
    verdict out;
    out.kind = category_of(known->second.error());
    out.detail = known->second.error().message;
    // Perhaps it can be loaded for the next one.
    if (out.kind != category::task_invalid)
      loaded_.erase(known);
    return out;
  }

private:
  engine& judge_;
  const std::vector<task>& all_;
  std::map<size_t, result<task>> loaded_;
};

result<std::vector<std::unique_ptr<engine>>>
start_engines(uint32_t count, const verifier_config& settings) {
  activity doing{"starting the judges"};
  std::vector<std::unique_ptr<engine>> all;
  for (uint32_t i = 0; i < count; ++i) {
    auto one = start_engine(settings);
    if (!one)
      return tl::unexpected{one.error()};
    all.push_back(std::move(*one));
  }
  return all;
}

/// Judges the rows that are left, each by whichever engine is free.
void judge_rows(const batch& what, const config& settings,
                std::span<const std::unique_ptr<engine>> engines,
                verdict_writer& to, const std::stop_token& stop) {
  auto reward = make_reward_options(settings.reward);
  std::atomic<size_t> next = 0;
  auto work = [&](engine& judge) {
    loaded_tasks known{judge, what.tasks};
    for (size_t i = next++; i < what.rows.size() && to.written(); i = next++) {
      auto outcome = known.verify(what.rows[i], stop);
      if (stop.stop_requested())
        return;
      to.add(verdict_json(outcome, score(outcome, reward), what.rows[i].id),
             outcome);
    }
  };
  std::vector<std::jthread> threads;
  for (auto& one : engines)
    threads.emplace_back([&work, &one] { work(*one); });
}

int finish(const verdict_writer& to, const batch_options& options,
           size_t total) {
  if (!to.written())
    return report({ec::io, fmt::format("verdicts cannot be written to {}",
                                       options.out.empty()
                                         ? "stdout"
                                         : options.out.string())});
  if (to.done() < total)
    return report(
      {ec::infra,
       fmt::format("stopped: {} of {} candidates are without a verdict{}",
                   total - to.done(), total,
                   options.out.empty() ? ""
                                       : "; the same command goes on")});
  if (to.not_judged() > 0)
    return report({ec::infra, fmt::format("{} of {} candidates could not be "
                                          "judged (infra)",
                                          to.not_judged(), total)});
  return 0;
}

} // namespace

int verify_batch(const batch_options& options, const config& settings) {
  auto what = read_batch(options.batch, settings.verifier);
  if (!what)
    return report(what.error());
  if (!options.out.empty()) {
    auto judged = read_judged(options.out);
    if (!judged)
      return report(judged.error());
    auto before = what->rows.size();
    std::erase_if(what->rows,
                  [&](const auto& row) { return judged->contains(row.id); });
    if (what->rows.size() < before)
      fmt::print(stderr, "swage: {} of {} candidates have a verdict in {}\n",
                 before - what->rows.size(), before,
                 options.out.string());
    if (what->rows.empty())
      return 0;
  }
  auto total = what->rows.size();
  auto to = verdict_writer::open(options.out, total);
  if (!to)
    return report(to.error());
  auto jobs = options.jobs > 0 ? options.jobs
                               : std::max(1u, std::thread::hardware_concurrency());
  auto engines = start_engines(
    static_cast<uint32_t>(std::min<size_t>(jobs, total)), settings.verifier);
  if (!engines)
    return report(engines.error());
  (*to)->begin();
  stop_signals signals;
  judge_rows(*what, settings, *engines, **to, signals.token());
  return finish(**to, options, total);
}

} // namespace swage
