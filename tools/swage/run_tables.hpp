#pragma once

#include "tools/swage/run_view.hpp"

#include <span>
#include <string>
#include <vector>

namespace swage {

// Each is one section of `swage inspect`, with its heading; empty where the
// run has nothing to show in it.
std::string state_section(const run_view& run);
std::string stage_section(const run_view& run);
std::string evaluation_section(const run_view& run);
std::string category_section(const run_view& run);
std::string discard_section(const run_view& run);
std::string hop_section(const run_view& run);
std::string drift_section(const run_view& run);
std::string mask_section(const run_view& run);

/// The fastest kernels with their sources, at most `limit`.
std::string kernel_section(const run_view& run, size_t limit);

/// One sample with its source and, if it failed, why.
std::string sample_text(const sample_record& sample);

/// All of it as one JSON object.
std::string run_json(const run_view& run, size_t kernels);

/// Samples, those that failed with why, as one JSON object.
std::string samples_json(const std::vector<sample_record>& samples);

/// The actor graph and what was measured on its edges as one JSON object.
std::string topology_json(const topology& graph,
                          std::span<const edge_figures> figures);

/// One evaluation as a JSON object.
std::string evaluation_json(const eval_column& column);

} // namespace swage
