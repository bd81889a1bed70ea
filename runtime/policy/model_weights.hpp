#pragma once

#include "runtime/error.hpp"
#include "runtime/policy/model_config.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace swage {

/// Opens the weights in `directory` as the snapshot of version 0: from
/// `model.safetensors`, from the shards that `model.safetensors.index.json`
/// names, or, where neither is there, drawn from `seed`. Half-precision files
/// are converted to float32.
result<snapshot> open_weights(const std::filesystem::path& directory,
                              const model_config& config, uint64_t seed);

/// Weights as training from nothing begins: matrices normal with deviation
/// `initializer_range`, norms one. The same seed gives the same bytes.
snapshot random_weights(const model_config& config, uint64_t seed);

/// The tensors of a snapshot by name, after checking that the buffer is whole
/// and that names, types and shapes are the model's. Fails with `ec::corrupt`
/// or, if it is another model's, `ec::invalid_argument`.
result<std::map<std::string, std::span<const float>>>
tensors_of(const snapshot& weights, const model_config& config);

/// Makes a snapshot of a flat buffer in the order of `parameter_layout`.
snapshot make_snapshot(const model_config& config, uint64_t version,
                       std::span<const float> flat);

/// Writes a snapshot as `model.safetensors`.
result<void> write_weights(const snapshot& weights,
                           const std::filesystem::path& file);

} // namespace swage
