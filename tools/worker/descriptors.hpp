#pragma once

#include <span>

/// Closes every descriptor from 3 on but the given ones, which it sorts.
void close_all_but(std::span<int> kept);

/// Puts /dev/null in the place of a descriptor.
bool silence(int fd);
