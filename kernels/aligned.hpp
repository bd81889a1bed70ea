#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace swage::kernels {

/// Allocates on cache-line boundaries, so that no vector load crosses one, and
/// asks for huge pages where they matter: a key-value cache is read whole for
/// each token, and most of that time would be spent on looking up pages.
template <class T>
struct cache_aligned {
  using value_type = T;
  static constexpr size_t line = 64;
  static constexpr size_t huge_page = size_t{2} << 20;

  cache_aligned() = default;
  template <class U>
  cache_aligned(const cache_aligned<U>&) {}

  T* allocate(size_t count) {
    auto bytes = count * sizeof(T);
    auto* data = ::operator new(bytes, alignment(bytes));
#ifdef MADV_HUGEPAGE
    // Only advice: what is left over at the end stays in small pages.
    if (bytes >= huge_page)
      ::madvise(data, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t count) {
    ::operator delete(data, alignment(count * sizeof(T)));
  }

  static std::align_val_t alignment(size_t bytes) {
    return std::align_val_t{bytes >= huge_page ? huge_page : line};
  }

  friend bool operator==(const cache_aligned&, const cache_aligned&) {
    return true;
  }
};

using float_buffer = std::vector<float, cache_aligned<float>>;

} // namespace swage::kernels
