#pragma once

#include "runtime/policy/torch/torch_trainer.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace swage::test {

/// What a call returns; fails the test with its reason if it has none.
template <class T>
T value_of(result<T> from) {
  INFO((from ? std::string{} : from.error().message));
  REQUIRE(from);
  return std::move(*from);
}

/// Writes the small model's config.json and no weights into a folder.
void write_config(const std::filesystem::path& folder);

/// A trainer of the small model with weights drawn from a seed.
std::unique_ptr<torch_trainer>
small_trainer(std::unique_ptr<gloo_collective> others = {});

/// Samples whose ratios under `trainer` lie on both sides of the clip.
std::vector<train_sample> some_samples(torch_trainer& trainer, int count,
                                       int32_t vocabulary);

/// NaN if one is.
double largest_difference(std::span<const float> a, std::span<const float> b);

} // namespace swage::test
