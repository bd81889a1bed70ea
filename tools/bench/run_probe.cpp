#include "tools/bench/run_probe.hpp"

#include <algorithm>

namespace swage::bench {

void watched_generator::look() {
  if (inside_->pending() == 0)
    gate_.end();
}

result<void> watched_generator::submit(sequence_request request) {
  auto queued = inside_->submit(std::move(request));
  if (queued)
    gate_.begin();
  return queued;
}

void watched_generator::cancel(uint64_t id) {
  inside_->cancel(id);
  look();
}

std::vector<sequence_output> watched_generator::step() {
  timed_scope busy{times_, work::decode};
  auto done = inside_->step();
  look();
  return done;
}

result<void> watched_generator::load(const snapshot& weights) {
  timed_scope busy{times_, work::decode};
  return inside_->load(weights);
}

result<std::vector<std::vector<float>>>
watched_generator::score(std::span<const scored_sequence> sequences,
                         float temperature) {
  timed_scope busy{times_, work::rescore};
  return inside_->score(sequences, temperature);
}

result<step_report> watched_trainer::step(std::span<const train_sample> samples,
                                          const train_options& options) {
  auto done = [&] {
    timed_scope busy{times_, work::train};
    return inside_->step(samples, options);
  }();
  if (done)
    trained_(static_cast<uint64_t>(
      std::count_if(samples.begin(), samples.end(),
                    [](auto& sample) { return sample.kept; })));
  return done;
}

snapshot watched_trainer::copy_weights(uint64_t version) {
  timed_scope busy{times_, work::train};
  return inside_->copy_weights(version);
}

result<void> watched_trainer::save(const std::filesystem::path& directory) {
  return inside_->save(directory);
}

result<void> watched_trainer::load(const std::filesystem::path& directory) {
  return inside_->load(directory);
}

result<void> watched_scorer::load(const snapshot& weights) {
  timed_scope busy{times_, work::score};
  return inside_->load(weights);
}

result<std::vector<std::vector<float>>>
watched_scorer::score(std::span<const scored_sequence> sequences,
                      float temperature) {
  timed_scope busy{times_, work::score};
  return inside_->score(sequences, temperature);
}

} // namespace swage::bench
