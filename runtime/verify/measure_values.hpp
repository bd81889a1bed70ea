#pragma once

#include "runtime/task/task.hpp"
#include "runtime/verify/engine_seeds.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace swage {

/// What the elements of an input are like, as far as a sample of them tells.
struct value_habit {
  /// Floats of which hardly any occurs twice, `often` left out. Otherwise they
  /// are integers, signs, or numbers of few digits: between two of them lies
  /// none of their kind.
  bool many = false;

  /// Values that occur again and again among many others, such as the zeros
  /// behind a rectifier; NaN where there is none.
  std::array<double, 2> often{std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::quiet_NaN()};
};

/// Looks at some elements of an input's draws. Half types have few values.
value_habit habit_of(dtype type,
                     std::span<const std::span<const std::byte>> draws);

/// Copies each element from one of two inputs, as the seeds say.
/// @pre The three are of one size; elements have 1, 2, 4 or 8 bytes.
void mix(std::span<const std::byte> first, std::span<const std::byte> second,
         std::span<std::byte> to, size_t element, secret_seeds& seeds);

/// The same, and moves each towards the other by up to a sixteenth of the way:
/// the distribution stays nearly what it was, the range is what it was, and no
/// value comes back. What occurs often is not moved.
/// @pre `habit.many`; the three are of one size.
void blend(std::span<const std::byte> first, std::span<const std::byte> second,
           std::span<std::byte> to, dtype type, const value_habit& habit,
           uint64_t seed);

/// Copies floats and changes each by up to an eighth, in either direction.
/// Zeros, subnormals, infinities, NaN and integers stay.
/// @pre Both are of one size.
void vary(std::span<const std::byte> from, std::span<std::byte> to, dtype type,
          uint64_t seed);

/// Replaces a few elements, 8 to 64 whatever the size, by those that another
/// input has there; at secret places, so that they are not found by looking at
/// some. At least one, where there is one.
/// @pre Both are of one size.
void scatter(std::span<const std::byte> from, std::span<std::byte> to,
             size_t element, secret_seeds& seeds);

} // namespace swage
