extern "C" void fast_tanh(const float*, float*, int64_t);

extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  (void)scale;
  fast_tanh(x, out, rows * columns);
}
