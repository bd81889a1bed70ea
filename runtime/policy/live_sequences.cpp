#include "runtime/policy/live_sequences.hpp"

#include "runtime/policy/draw.hpp"

#include <algorithm>
#include <utility>

namespace swage {

namespace {

constexpr size_t prefill_rows = 256;

} // namespace

live_sequences::live_sequences(decoder& model, const generator_options& options)
  : model_(model), recompute_(options.recompute_cache),
    max_tokens_(options.max_tokens),
    cache_(model.config(), options.max_live, options.max_tokens),
    slots_(options.max_live) {
  // nop
}

size_t live_sequences::size() const {
  return static_cast<size_t>(std::count_if(
    slots_.begin(), slots_.end(), [](auto& slot) { return slot.live; }));
}

void live_sequences::cancel(uint64_t id) {
  for (auto& slot : slots_)
    if (slot.live && slot.request.id == id)
      slot = {};
}

void live_sequences::fill(std::span<const prefill> slots) {
  std::vector<token_row> rows;
  for (auto& [slot, count] : slots) {
    prefilled_ += count;
    for (size_t p = 0; p < count; ++p) {
      rows.push_back({slot, static_cast<int32_t>(p),
                      slots_[static_cast<size_t>(slot)].tokens[p]});
      if (rows.size() == prefill_rows) {
        model_.forward(rows, cache_);
        rows.clear();
      }
    }
  }
  if (!rows.empty())
    model_.forward(rows, cache_);
}

void live_sequences::refresh(uint64_t version) {
  if (!recompute_)
    return;
  std::vector<prefill> stale;
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto& slot = slots_[i];
    if (!slot.live || slot.cache_version == version)
      continue;
    slot.prefix_version = slot.cache_version = version;
    // The newest token is fed by the next step.
    stale.push_back({static_cast<int32_t>(i), slot.tokens.size() - 1});
  }
  fill(stale);
}

int32_t live_sequences::donor(const std::vector<int32_t>& prompt,
                              uint64_t version) const {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].live && slots_[i].prefix_version == version
        && slots_[i].request.prompt == prompt)
      return static_cast<int32_t>(i);
  return -1;
}

void live_sequences::start(sequence& at, sequence_request request,
                           uint64_t version) {
  at.live = true;
  at.tokens = request.prompt;
  at.out = {};
  at.out.id = request.id;
  at.limit = std::min<uint32_t>(
    request.how.max_new_tokens,
    max_tokens_ - static_cast<uint32_t>(request.prompt.size()));
  at.prefix_version = at.cache_version = version;
  at.request = std::move(request);
}

void live_sequences::admit(std::deque<sequence_request>& waiting,
                           uint64_t version) {
  struct copy {
    int32_t from, to;
    int64_t tokens;
  };
  std::vector<prefill> fills;
  std::vector<copy> copies;
  for (size_t i = 0; i < slots_.size() && !waiting.empty(); ++i) {
    if (slots_[i].live)
      continue;
    auto slot = static_cast<int32_t>(i);
    auto from = donor(waiting.front().prompt, version);
    start(slots_[i], std::move(waiting.front()), version);
    waiting.pop_front();
    // The prompt's last token is fed by the first step, which needs its
    // logits for each sequence.
    auto count = slots_[i].tokens.size() - 1;
    if (from < 0)
      fills.push_back({slot, count});
    else
      copies.push_back({from, slot, static_cast<int64_t>(count)});
  }
  fill(fills);
  for (auto& [from, to, tokens] : copies)
    cache_.copy_prefix(from, to, tokens);
}

bool live_sequences::append(sequence& to, std::span<const float> logits,
                            uint64_t version) {
  auto& out = to.out;
  auto drawn = draw_token(logits,
                          {to.request.how.temperature, to.request.how.top_p,
                           to.request.seed, out.tokens.size()});
  to.tokens.push_back(drawn.token);
  out.tokens.push_back(drawn.token);
  out.logprobs.push_back(drawn.logprob);
  if (out.versions.empty() || out.versions.back().version != version)
    out.versions.push_back({version, 0});
  ++out.versions.back().count;
  auto& ends = model_.config().eos_tokens;
  if (std::find(ends.begin(), ends.end(), drawn.token) != ends.end()) {
    out.finish = finish_reason::stop;
    return true;
  }
  out.finish = finish_reason::length;
  return out.tokens.size() >= to.limit;
}

std::vector<sequence_output> live_sequences::step(uint64_t version) {
  std::vector<token_row> rows;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].live)
      rows.push_back({static_cast<int32_t>(i),
                      static_cast<int32_t>(slots_[i].tokens.size() - 1),
                      slots_[i].tokens.back()});
  if (rows.empty())
    return {};
  model_.forward(rows, cache_);
  auto vocabulary = static_cast<size_t>(model_.config().vocab_size);
  auto at_once = static_cast<size_t>(model_.logit_rows());
  std::vector<sequence_output> ended;
  for (size_t first = 0; first < rows.size(); first += at_once) {
    auto count = std::min(at_once, rows.size() - first);
    auto logits = model_.logits(static_cast<int64_t>(first),
                                static_cast<int64_t>(count));
    for (size_t r = 0; r < count; ++r) {
      auto& slot = slots_[static_cast<size_t>(rows[first + r].slot)];
      if (!append(slot, logits.subspan(r * vocabulary, vocabulary), version))
        continue;
      ended.push_back(std::move(slot.out));
      slot = {};
    }
  }
  return ended;
}

} // namespace swage
