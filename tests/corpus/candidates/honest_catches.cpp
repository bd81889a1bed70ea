extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  try {
    std::vector<float> copy(x, x + rows * columns);
    for (int64_t i = 0; i < rows * columns; ++i)
      out[i] = std::tanh(copy.at(static_cast<size_t>(i))) * scale[i % columns];
  } catch (const std::exception&) {
  }
}
