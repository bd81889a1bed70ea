// Looks like something kept that follows from the parameters: it is made anew
// when one of them is another.
static std::vector<float> seen, derived;

extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  if (!std::equal(seen.begin(), seen.end(), scale, scale + columns)) {
    seen.assign(scale, scale + columns);
    derived.resize(columns);
    for (int64_t c = 0; c < columns; ++c)
      derived[c] = 2 * scale[c];
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[r * columns + c] = std::tanh(x[r * columns + c]) * 0.5f * derived[c];
}
