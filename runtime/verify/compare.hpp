#pragma once

#include "runtime/task/task.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swage {

/// How far a result may be from what is expected. An element is right iff
///
///     |got - expected| <= absolute * scale + relative * |expected|
///     scale = clamp(rms(expected), 1e-4, max_scale)
///
/// so that a tensor of tiny values is judged by its own size (zeros do not
/// pass for a softmax over thousands), and values around zero in a result of
/// ordinary size are not asked for more digits than the type has.
struct tolerance {
  double relative = 0;
  double absolute = 0;
  double max_scale = 1; ///< Infinite where inputs were scaled up on purpose.
};

/// The smallest scale: below it a result is rounding noise of its inputs.
inline constexpr double min_tolerance_scale = 1e-4;

/// By type: float32 1e-4, half types 1e-2, float64 1e-7, integers and booleans
/// exact; the task's own where it gives them.
tolerance tolerance_of(dtype type, const eval_spec& eval);

/// The outcome of comparing one tensor.
struct comparison {
  uint64_t elements = 0;
  uint64_t wrong = 0;     ///< Elements not within tolerance; NaN never is.
  uint64_t nonfinite = 0; ///< Written elements that are NaN or infinite.
  uint64_t unwritten = 0; ///< Wrong elements that still hold the poison.
  bool expected_finite = true;
  uint64_t worst = 0; ///< Index of the wrong element furthest off, row-major.
  double got = 0;     ///< Its value.
  double expected = 0;

  bool pass() const { return wrong == 0 && expected_finite; }
  double wrong_share() const;
};

/// Compares a contiguous result with what is expected, in chunks, without
/// allocating. `poison` is the byte that the output was filled with.
/// @pre Both spans hold `what.numel()` elements.
comparison compare(const tensor_spec& what, std::span<const std::byte> got,
                   std::span<const std::byte> expected,
                   const tolerance& allowed,
                   std::byte poison = std::byte{0xff});

/// How many bits it takes to say which result this is, with each element coded
/// by how often its value occurs: 0 for a constant. Of a large result, of
/// elements that stand for it. Two results with many bits are not the same by
/// chance.
double information(dtype type, std::span<const std::byte> result);

/// Whether results, one per output, say so much that giving them again is no
/// accident. Of a few bits, such as the index of the largest of four, wrong ones
/// repeat.
bool is_distinctive(std::span<const tensor_spec> outputs,
                    std::span<const std::vector<std::byte>> results);

/// Such as "[3, 17]"; "[]" for a scalar.
std::string index_text(const tensor_spec& what, uint64_t flat);

/// IEEE 754 binary16 to single precision; exact.
float half_to_float(uint16_t bits);

/// The upper half of a single: exact.
float bfloat16_to_float(uint16_t bits);

} // namespace swage
