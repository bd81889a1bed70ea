// One flat loop; the columns are walked with a counter of their own.
static inline float value(float x) {
  float e = std::exp(2.0f * x);
  return std::isinf(e) ? 1.0f : (e - 1.0f) / (e + 1.0f);
}

extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns;
    float* to = out + r * columns;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c)
      to[c] = value(in[c]) * scale[c];
  }
}
