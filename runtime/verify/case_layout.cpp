#include "runtime/verify/case_layout.hpp"

#include <algorithm>

namespace swage {

namespace {

uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

tensor_slot place(const tensor_spec& tensor, uint64_t& end) {
  tensor_slot slot;
  slot.bytes = storage_bytes(tensor);
  auto aligned = round_up(slot.bytes, layout_alignment);
  slot.region_offset = end;
  slot.region_bytes = std::max(round_up(aligned, layout_page_bytes),
                               layout_page_bytes);
  slot.offset = end + slot.region_bytes - aligned;
  end += slot.region_bytes;
  return slot;
}

} // namespace

uint64_t storage_bytes(const tensor_spec& tensor) {
  if (tensor.numel() == 0)
    return 0;
  if (tensor.strides.empty())
    return static_cast<uint64_t>(tensor.numel()) * size_of(tensor.type);
  uint64_t last = 0;
  for (size_t i = 0; i < tensor.shape.size() && i < tensor.strides.size(); ++i)
    last += static_cast<uint64_t>((tensor.shape[i] - 1) * tensor.strides[i]);
  return (last + 1) * size_of(tensor.type);
}

case_layout lay_out(const signature& args) {
  case_layout layout;
  for (const auto& tensor : args.inputs)
    layout.inputs.push_back(place(tensor, layout.bytes));
  for (const auto& tensor : args.state)
    layout.state.push_back(place(tensor, layout.bytes));
  for (const auto& tensor : args.outputs)
    layout.outputs.push_back(place(tensor, layout.bytes));
  layout.bytes = std::max(layout.bytes, layout_page_bytes);
  return layout;
}

} // namespace swage
