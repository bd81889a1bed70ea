#pragma once

#include "runtime/task/task.hpp"

#include <cstdint>
#include <vector>

namespace swage {

/// Granularity of regions; a system with larger pages is refused by
/// `shared_memory::create`.
inline constexpr uint64_t layout_page_bytes = 4096;

/// Alignment of each tensor's first byte.
inline constexpr uint64_t layout_alignment = 64;

/// Where one tensor lies in a case. The region is whole pages, mapped in the
/// sandbox between two pages without access; the tensor ends at the region's
/// end, but for the fewer than 64 bytes that its alignment costs:
///
///     | no access | lead (canary) | tensor ... | tail (canary) | no access |
///                 ^ region_offset ^ offset     ^ offset + bytes
struct tensor_slot {
  uint64_t offset = 0;        ///< Of the first element, from the case's start.
  uint64_t bytes = 0;         ///< Whole storage span of a strided tensor.
  uint64_t region_offset = 0; ///< From the case's start; a multiple of pages.
  uint64_t region_bytes = 0;  ///< A multiple of pages.
};

/// One *case* is the data of one call. Case k begins at byte k * bytes of the
/// shared file.
struct case_layout {
  std::vector<tensor_slot> inputs, state, outputs;
  uint64_t bytes = 0; ///< Of one case; a multiple of pages.
};

/// Bytes from a tensor's first to its last element inclusive; 0 if it has none.
uint64_t storage_bytes(const tensor_spec& tensor);

/// Lays out the tensors in argument order: inputs, state, outputs.
case_layout lay_out(const signature& args);

} // namespace swage
