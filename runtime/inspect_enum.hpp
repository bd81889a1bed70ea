#pragma once

#include <cstdint>
#include <type_traits>

namespace swage {

/// Serialises any of our enums as its number. Found by argument-dependent
/// look-up, so that enums of this namespace travel in messages without naming
/// the library that carries them.
/// A number that names no value is refused where the enum says how many it has
/// by a `constexpr uint8_t num_values(Enum)` beside it.
template <class Inspector, class Enum>
  requires std::is_enum_v<Enum> && std::is_same_v<std::underlying_type_t<Enum>, uint8_t>
bool inspect(Inspector& f, Enum& x) {
  auto get = [&x] { return static_cast<uint8_t>(x); };
  auto set = [&x](uint8_t value) {
    if constexpr (requires { num_values(x); })
      if (value >= num_values(x))
        return false;
    x = static_cast<Enum>(value);
    return true;
  };
  return f.apply(get, set);
}

} // namespace swage
