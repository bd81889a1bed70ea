extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  (void)x, (void)scale, (void)out, (void)rows, (void)columns;
  std::vector<char*> all;
  for (;;)
    all.push_back(new char[size_t{16} << 20]());
}
