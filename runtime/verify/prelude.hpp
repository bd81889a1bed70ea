// What a candidate in function form may use without naming it; precompiled once
// per toolchain and put before every candidate. No include guard: it is the
// first and only include of its kind, and a precompiled header's main file.
// <immintrin.h> stands before it where a candidate names intrinsics; the others
// compile 15 % faster without.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>
