#pragma once

#include "runtime/task/draw.hpp"
#include "runtime/task/program.hpp"

namespace swage {

/// Draws a program of a level: 1 is one operator, 2 is two to five composed,
/// 3 is a small block (feed-forward, gated, residual and norm, attention head).
/// The main operand has 16 thousand to 131 thousand elements, so that forms of
/// a kernel differ in speed; blocks and products are smaller.
/// The program is valid: `infer` succeeds.
program draw_program(draw& random, int level);

} // namespace swage
