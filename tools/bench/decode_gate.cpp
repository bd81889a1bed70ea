#include "tools/bench/decode_gate.hpp"

namespace swage::bench {

void decode_gate::begin() {
  std::lock_guard lock{mutex_};
  if (decoding_)
    return;
  decoding_ = true;
  begin_ = std::chrono::steady_clock::now();
}

void decode_gate::end() {
  std::lock_guard lock{mutex_};
  if (!decoding_)
    return;
  decoding_ = false;
  phases_s_.push_back(std::chrono::duration<double>(
                        std::chrono::steady_clock::now() - begin_)
                        .count());
  changed_.notify_all();
}

void decode_gate::pass(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, stop, [this] { return !decoding_; });
}

std::vector<double> decode_gate::phases_s() const {
  std::lock_guard lock{mutex_};
  return phases_s_;
}

} // namespace swage::bench
