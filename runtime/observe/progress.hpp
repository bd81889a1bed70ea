#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace swage {

/// Where a stage stands.
struct progress_event {
  std::string stage; ///< "sft", "rl-single", ...
  uint64_t done = 0;
  uint64_t total = 0; ///< 0: unknown, so there is no time left to tell.
  std::string unit;   ///< "steps", "samples", ...
  std::string note;   ///< Appended as it is, such as "reward 0.41".
  uint64_t cached = 0; ///< Of `done`; they took no time and are in no rate.
};

struct progress_options {
  bool terminal = false; ///< One rewritten line, or a line now and then.
  double redraw_s = 0.2; ///< Least time between two redraws of the line.
  double line_s = 15;    ///< Least time between two lines of one stage.
  size_t width = 79;     ///< Longest rewritten line, in characters.
};

/// Turns progress events into what a person sees. Pure: `now` is an argument
/// in seconds of any monotonic clock, and the text is returned.
class progress {
public:
  explicit progress(progress_options options);

  /// Text to write to stderr now; nothing if it is too early to say more.
  /// A stage's first event and the one with done = total always say something.
  std::optional<std::string> update(const progress_event& event, double now);

  /// Ends a rewritten line, so that other text can follow: "\n" or "".
  std::string finish();

private:
  std::string line(const progress_event& event, double now) const;

  progress_options options_;
  std::string stage_;
  double stage_began_ = 0;
  uint64_t stage_began_at_ = 0;
  uint64_t stage_began_cached_ = 0;
  double last_said_ = 0;
  bool completed_ = false; ///< The stage's last line was written.
  bool open_ = false;      ///< A rewritten line is on the terminal.
};

/// "45 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);

/// Whether stderr is a terminal that can rewrite a line.
bool stderr_is_terminal();

} // namespace swage
