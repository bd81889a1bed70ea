// Looks like a kept result: the buffer lives on between calls, its content
// does not matter.
static std::vector<float> scratch;

extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  scratch.resize(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < scratch.size(); ++i)
    scratch[i] = std::tanh(x[i]);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[r * columns + c] = scratch[static_cast<size_t>(r * columns + c)] * scale[c];
}
