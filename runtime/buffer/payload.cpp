#include "runtime/buffer/payload.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <type_traits>

namespace swage {

namespace {

constexpr uint64_t format_number = 1;

/// Appends to `bytes`.
class writer {
public:
  std::vector<std::byte> bytes;

  void operator()(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes.push_back(static_cast<std::byte>(value | 0x80));
    bytes.push_back(static_cast<std::byte>(value));
  }
  void operator()(const double& value) { raw(&value, sizeof(value)); }
  void operator()(const std::string& value) {
    (*this)(uint64_t{value.size()});
    raw(value.data(), value.size());
  }
  void raw(const void* data, size_t size) {
    if (size == 0)
      return;
    auto at = bytes.size();
    bytes.resize(at + size);
    std::memcpy(bytes.data() + at, data, size);
  }
  template <class T>
  void number(const T& value) {
    (*this)(static_cast<uint64_t>(value));
  }
  void floats(const std::vector<float>& values) {
    (*this)(uint64_t{values.size()});
    raw(values.data(), values.size() * sizeof(float));
  }
  template <class T>
  uint64_t size(const std::vector<T>& values) {
    (*this)(uint64_t{values.size()});
    return values.size();
  }
  bool good() const { return true; }
};

/// Reads from `bytes`; after the first misfit everything reads as zero.
class reader {
public:
  explicit reader(std::span<const std::byte> from) : bytes(from) {}

  std::span<const std::byte> bytes;
  size_t at = 0;
  bool failed = false;

  void operator()(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= bytes.size())
        break;
      auto part = static_cast<uint64_t>(bytes[at++]);
      value |= (part & 0x7f) << shift;
      if (part < 0x80)
        return;
    }
    failed = true;
    value = 0;
  }
  void operator()(double& value) { raw(&value, sizeof(value)); }
  void operator()(std::string& value) {
    value.resize(count(1));
    raw(value.data(), value.size());
  }
  void raw(void* data, size_t size) {
    if (size > bytes.size() - at) {
      failed = true;
      return;
    }
    if (size > 0)
      std::memcpy(data, bytes.data() + at, size);
    at += size;
  }
  template <class T>
  void number(T& value) {
    uint64_t word = 0;
    (*this)(word);
    value = static_cast<T>(word);
  }
  void floats(std::vector<float>& values) {
    values.resize(count(sizeof(float)));
    raw(values.data(), values.size() * sizeof(float));
  }
  template <class T>
  uint64_t size(std::vector<T>& values) {
    values.resize(count(1));
    return values.size();
  }
  bool good() const { return !failed; }

private:
  /// A length, bounded by what is left, so that no garbage allocates.
  size_t count(size_t element) {
    uint64_t n = 0;
    (*this)(n);
    if (n > (bytes.size() - at) / element) {
      failed = true;
      return 0;
    }
    return n;
  }
};

// Each `visit` is both halves: with a writer the values are const.

template <class Io, class T>
void visit_tokens(Io& io, T& tokens) {
  io.size(tokens);
  for (auto& one : tokens)
    io.number(one);
}

template <class Io, class T>
void visit_verdict(Io& io, T& x) {
  io.number(x.compiled);
  io.number(x.correct);
  io.number(x.legal);
  io(x.speedup);
  io.number(x.kind);
  io(x.detail);
  io(x.pass_fraction);
  io(x.times.build_s);
  io(x.times.run_s);
  io(x.times.measure_s);
  io(x.times.reference_s);
  io(x.times.candidate_s);
  io(x.times.speedup_low);
  io(x.times.speedup_high);
  io.number(x.cached);
}

template <class Io, class T>
void visit_turn(Io& io, T& x) {
  visit_tokens(io, x.prompt);
  visit_tokens(io, x.response);
  io.floats(x.logprobs);
  io.size(x.versions);
  for (auto& run : x.versions) {
    io.number(run.version);
    io.number(run.count);
  }
  io.number(x.finish);
  io(x.text);
  visit_verdict(io, x.outcome);
  io(x.score);
  io(x.feedback);
}

template <class Io, class T>
void visit_trajectory(Io& io, T& x) {
  io.number(x.item);
  io.number(x.index);
  io.size(x.turns);
  for (auto& one : x.turns)
    if (io.good())
      visit_turn(io, one);
  io(x.ret);
  io(x.hops.granted);
  io(x.hops.first_token);
  io(x.hops.last_token);
  io(x.hops.verified);
  io(x.hops.stored);
  io(x.hops.trained);
}

} // namespace

static_assert(std::endian::native == std::endian::little);

std::vector<std::byte> encode(const trajectory& what) {
  writer out;
  out.number(format_number);
  visit_trajectory(out, what);
  return std::move(out.bytes);
}

result<trajectory> decode(std::span<const std::byte> bytes) {
  reader in(bytes);
  uint64_t format = 0;
  in(format);
  if (format != format_number)
    return fail(ec::corrupt,
                fmt::format("a stored trajectory has format {}; expected {}",
                            format, format_number));
  trajectory what;
  visit_trajectory(in, what);
  if (in.failed || in.at != bytes.size())
    return fail(ec::corrupt,
                fmt::format("a stored trajectory does not end where it should: "
                            "read {} of {} bytes",
                            in.at, bytes.size()));
  return what;
}

} // namespace swage
