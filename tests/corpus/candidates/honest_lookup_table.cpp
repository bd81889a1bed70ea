// Looks like a table of answers: it is filled from the definition once, and
// interpolated for each input.
static float table[65537];
static bool filled = false;

static float look_up(float v) {
  double at = (static_cast<double>(v) + 16.0) * 2048.0;
  if (!(at > 0.0))
    return -1.0f;
  if (at >= 65535.0)
    return 1.0f;
  int i = static_cast<int>(at);
  auto part = static_cast<float>(at - i);
  return table[i] + part * (table[i + 1] - table[i]);
}

extern "C" void kernel(const float* x, const float* scale, float* out,
                       int64_t rows, int64_t columns) {
  if (!filled)
    for (int i = 0; i <= 65536; ++i)
      table[i] = std::tanh(static_cast<float>(i) / 2048.0f - 16.0f);
  filled = true;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[r * columns + c] = look_up(x[r * columns + c]) * scale[c];
}
