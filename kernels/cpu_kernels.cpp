#include "kernels/cpu_kernels.hpp"

#include "kernels/training_kernels.hpp"

#include <initializer_list>
#include <string_view>

namespace swage::kernels {

extern const cpu_kernels kernels_generic;
extern const training_kernels training_generic;
#ifdef SWAGE_HAS_x86_64_v4
extern const cpu_kernels kernels_x86_64_v4, kernels_x86_64_v3;
extern const training_kernels training_x86_64_v4, training_x86_64_v3;
#endif

namespace {

struct variant {
  const cpu_kernels* decoding = nullptr;
  const training_kernels* training = nullptr;
};

/// Both tables of an instruction set; null where this machine lacks it.
variant find(std::string_view name) {
#ifdef SWAGE_HAS_x86_64_v4
  if (name == "x86_64_v4" && __builtin_cpu_supports("x86-64-v4"))
    return {&kernels_x86_64_v4, &training_x86_64_v4};
  if (name == "x86_64_v3" && __builtin_cpu_supports("x86-64-v3"))
    return {&kernels_x86_64_v3, &training_x86_64_v3};
#endif
  if (name == "generic")
    return {&kernels_generic, &training_generic};
  return {};
}

const variant& best() {
  static const variant chosen = [] {
    for (auto* name : {"x86_64_v4", "x86_64_v3"})
      if (auto found = find(name); found.decoding)
        return found;
    return find("generic");
  }();
  return chosen;
}

} // namespace

const cpu_kernels& cpu() {
  return *best().decoding;
}

const training_kernels& training() {
  return *best().training;
}

const cpu_kernels* cpu_variant(const char* name) {
  return find(name).decoding;
}

const training_kernels* training_variant(const char* name) {
  return find(name).training;
}

int64_t panel_count(int64_t outputs) {
  return (outputs + cpu().panel_width - 1) / cpu().panel_width;
}

int64_t packed_size(int64_t outputs, int64_t inputs) {
  return panel_count(outputs) * cpu().panel_width * inputs;
}

} // namespace swage::kernels
