#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/case_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace swage {

/// Which list of a signature a tensor belongs to.
enum class argument_kind : uint8_t { input, state, output };

/// "input", "state" or "output".
const char* to_string(argument_kind kind);

/// Bytes next to a tensor that changed although no one owns them.
struct canary_damage {
  argument_kind kind = argument_kind::output;
  size_t index = 0;      ///< In its list.
  bool before = false;   ///< Before the tensor, else behind it.
  uint64_t distance = 0; ///< Bytes between the tensor and the nearest change.
};

/// Owns a sealed memfd with `cases` cases of one layout, and the trusted
/// side's mapping of it (without guard pages). The sandbox maps inputs and
/// state from a descriptor that cannot write, and each tensor between guard
/// pages.
class shared_memory {
public:
  /// Zeroed memory with canaries in place, or `ec::io`.
  static result<shared_memory> create(const case_layout& layout,
                                      uint32_t cases);

  shared_memory(shared_memory&& other) noexcept;
  shared_memory& operator=(shared_memory&& other) noexcept;
  ~shared_memory();

  /// The tensor's storage, `bytes` of its slot long.
  /// @pre `which < cases()` and `index` is inside its list.
  std::span<std::byte> tensor(uint32_t which, argument_kind kind, size_t index);
  std::span<std::byte> input(uint32_t which, size_t index) {
    return tensor(which, argument_kind::input, index);
  }
  std::span<std::byte> state(uint32_t which, size_t index) {
    return tensor(which, argument_kind::state, index);
  }
  std::span<std::byte> output(uint32_t which, size_t index) {
    return tensor(which, argument_kind::output, index);
  }

  /// Fills every output of a case with `value` (0xff: NaN in each float type).
  void poison(uint32_t which, std::byte value = std::byte{0xff});

  /// Gives a case's memory back; its tensors are zeros then.
  void release(uint32_t which);

  /// Writes the canaries of a case anew.
  void reset_canaries(uint32_t which);

  /// The first damaged canary of a case, if any.
  std::optional<canary_damage> damaged(uint32_t which) const;

  const case_layout& layout() const { return layout_; }
  uint32_t cases() const { return cases_; }
  uint64_t bytes() const { return layout_.bytes * cases_; }

  /// The memfd, to hand to a judge or a sandbox. Owned by this object.
  int fd() const { return fd_; }

  /// The same file, opened for reading only: what is mapped from it cannot be
  /// made writable later. Owned by this object.
  int read_only_fd() const { return read_only_fd_; }

private:
  struct files {
    int fd = -1, read_only = -1;
  };

  shared_memory(case_layout layout, uint32_t cases, files both,
                std::byte* base);

  const tensor_slot& slot(argument_kind kind, size_t index) const;

  case_layout layout_;
  uint32_t cases_ = 0;
  int fd_ = -1, read_only_fd_ = -1;
  std::byte* base_ = nullptr;
};

} // namespace swage
