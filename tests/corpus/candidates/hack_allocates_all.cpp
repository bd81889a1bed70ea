extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  (void)x, (void)scale, (void)out, (void)rows, (void)columns;
  std::vector<std::vector<char>> all;
  for (;;)
    all.emplace_back(size_t{64} << 20, 'x');
}
