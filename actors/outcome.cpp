#include "actors/outcome.hpp"

#include <utility>

namespace swage {

void run_outcome::fail(int code, std::string reason) {
  note_failure(code, std::move(reason));
  finish();
}

void run_outcome::note_failure(int code, std::string reason) {
  std::lock_guard lock{mutex_};
  if (code_ == 0) {
    code_ = code;
    reason_ = std::move(reason);
  }
}

void run_outcome::finish() {
  std::lock_guard lock{mutex_};
  ended_ = true;
  changed_.notify_all();
}

int run_outcome::wait() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return ended_; });
  return code_;
}

bool run_outcome::ended() const {
  std::lock_guard lock{mutex_};
  return ended_;
}

int run_outcome::code() const {
  std::lock_guard lock{mutex_};
  return code_;
}

std::string run_outcome::reason() const {
  std::lock_guard lock{mutex_};
  return reason_;
}

void learner_end::set(std::optional<std::string> failure) {
  std::lock_guard lock{mutex_};
  ended_ = true;
  failure_ = std::move(failure);
}

bool learner_end::finished() const {
  std::lock_guard lock{mutex_};
  return ended_ && !failure_;
}

std::optional<std::string> learner_end::failure() const {
  std::lock_guard lock{mutex_};
  return failure_;
}

} // namespace swage
