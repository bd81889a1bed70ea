#include "tools/swage/terminal_progress.hpp"

#include "runtime/observe/log.hpp"

#include <chrono>
#include <utility>

namespace swage {

terminal_progress::terminal_progress(std::string stage, std::string unit)
  : stage_{std::move(stage)}, unit_{std::move(unit)},
    terminal_{stderr_is_terminal()}, lines_{{.terminal = terminal_}} {}

terminal_progress::~terminal_progress() {
  write_stderr(lines_.finish());
}

void terminal_progress::update(size_t done, size_t total, std::string note,
                               size_t cached) {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  auto text = lines_.update(
    {stage_, done, total, unit_, std::move(note), cached},
    std::chrono::duration<double>(now).count());
  if (text)
    write_stderr(*text, terminal_ && !text->ends_with('\n'));
}

} // namespace swage
