#include "runtime/policy/byte_pairs.hpp"

#include <algorithm>

namespace swage {

namespace {

uint64_t key_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32
         | static_cast<uint32_t>(right);
}

/// A token in a doubly linked list over the word; -1 is no neighbour.
struct node {
  int32_t token;
  int32_t previous;
  int32_t next;
};

/// A merge that was possible when it was queued.
struct candidate {
  int32_t rank;
  int32_t position;
  int32_t left;
  int32_t right;
  int32_t merged;

  /// std::push_heap keeps the largest in front.
  friend bool operator<(const candidate& a, const candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  }
};

} // namespace

void byte_pairs::add(int32_t left, int32_t right, int32_t rank,
                     int32_t merged) {
  rules_.try_emplace(key_of(left, right), rule{rank, merged});
}

const byte_pairs::rule* byte_pairs::find(int32_t left, int32_t right) const {
  auto found = rules_.find(key_of(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

void byte_pairs::merge(std::vector<int32_t>& tokens) const {
  thread_local std::vector<node> nodes;
  thread_local std::vector<candidate> queue;
  nodes.clear();
  queue.clear();
  auto count = static_cast<int32_t>(tokens.size());
  for (int32_t i = 0; i < count; ++i)
    nodes.push_back({tokens[i], i - 1, i + 1 < count ? i + 1 : -1});
  auto push = [&](int32_t at) {
    if (at < 0 || nodes[at].next < 0)
      return;
    auto left = nodes[at].token, right = nodes[nodes[at].next].token;
    if (auto* found = find(left, right)) {
      queue.push_back({found->rank, at, left, right, found->merged});
      std::push_heap(queue.begin(), queue.end());
    }
  };
  for (int32_t i = 0; i < count; ++i)
    push(i);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end());
    auto best = queue.back();
    queue.pop_back();
    auto& left = nodes[best.position];
    // One of its two may have been merged with another since.
    if (left.token != best.left || left.next < 0
        || nodes[left.next].token != best.right)
      continue;
    auto& right = nodes[left.next];
    left.token = best.merged;
    right.token = -1;
    left.next = right.next;
    if (left.next >= 0)
      nodes[left.next].previous = best.position;
    push(left.previous);
    push(best.position);
  }
  tokens.clear();
  for (int32_t i = 0; i >= 0 && i < count; i = nodes[i].next)
    tokens.push_back(nodes[i].token);
}

} // namespace swage
