static float deep(const float* x, int64_t n) {
  volatile float local[4096];
  local[n % 4096] = x[0];
  return n < 0 ? 0.0f : deep(x, n + 1) + local[n % 4096];
}

extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  (void)scale;
  (void)rows;
  out[0] = deep(x, columns);
}
