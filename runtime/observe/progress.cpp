#include "runtime/observe/progress.hpp"

#include "runtime/observe/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace swage {

namespace {

constexpr std::string_view erase_line = "\r\x1b[K";

/// Nothing that is worked on is done so often in a second: what is, was known.
constexpr double most_per_s = 1000;

/// The first `width` characters; never half of one.
std::string cut(const std::string& text, size_t width) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 && ++seen > width)
      return text.substr(0, i);
  return text;
}

} // namespace

progress::progress(progress_options options) : options_{options} {}

std::optional<std::string> progress::update(const progress_event& event,
                                            double now) {
  bool first = event.stage != stage_;
  // A redo after a restart begins again below where the stage was.
  if (first || event.done < stage_began_at_) {
    stage_ = event.stage;
    stage_began_ = now;
    stage_began_at_ = event.done;
    stage_began_cached_ = event.cached;
    completed_ = false;
  }
  bool complete = event.total > 0 && event.done >= event.total;
  auto interval = options_.terminal ? options_.redraw_s : options_.line_s;
  bool last = complete && !completed_;
  if (!first && !last && (completed_ || now - last_said_ < interval))
    return std::nullopt;
  last_said_ = now;
  completed_ = complete;
  auto text = line(event, now);
  if (!options_.terminal)
    return text + '\n';
  std::string before = first ? finish() : "";
  open_ = true;
  return before + std::string{erase_line} + cut(text, options_.width)
         + (complete ? finish() : "");
}

std::string progress::finish() {
  return std::exchange(open_, false) ? "\n" : "";
}

std::string progress::line(const progress_event& event, double now) const {
  auto text = event.total > 0 ? fmt::format("{:<10} {}/{} {}", event.stage,
                                            event.done, event.total, event.unit)
                              : fmt::format("{:<10} {} {}", event.stage,
                                            event.done, event.unit);
  auto elapsed = now - stage_began_;
  auto done = static_cast<double>(event.done - stage_began_at_)
              - static_cast<double>(event.cached)
              + static_cast<double>(stage_began_cached_);
  auto rate = elapsed > 0 ? done / elapsed : 0;
  if (rate > 0 && rate < most_per_s) {
    text += fmt::format(", {:.3g}/s", rate);
    if (event.done < event.total)
      text += fmt::format(
        ", {} left",
        duration_text(static_cast<double>(event.total - event.done) / rate));
    else if (event.total > 0)
      text += fmt::format(" in {}", duration_text(elapsed));
  }
  if (event.cached > 0)
    text += fmt::format(", {} from the cache", event.cached);
  return event.note.empty() ? text : text + ", " + event.note;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds > 1e8)
    return "a long time";
  auto whole = static_cast<uint64_t>(std::max(0.0, std::round(seconds)));
  if (whole < 60)
    return fmt::format("{} s", whole);
  if (whole < 3600)
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

bool stderr_is_terminal() {
  auto* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1
         && !(term && std::string_view{term} == "dumb");
}

} // namespace swage
