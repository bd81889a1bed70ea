#include "runtime/policy/torch/gloo_collective.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <thread>

namespace swage {

namespace {

using options_ptr = c10::intrusive_ptr<c10d::ProcessGroupGloo::Options>;

options_ptr make_options(double deadline_s) {
  auto out = c10d::ProcessGroupGloo::Options::create(
    std::chrono::milliseconds{static_cast<int64_t>(deadline_s * 1e3)});
  out->devices.push_back(
    c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  out->threads = 1;
  return out;
}

/// The first line; c10d appends a stack trace.
std::string first_line(const std::exception& what) {
  std::string text = what.what();
  return text.substr(0, text.find('\n'));
}

tl::unexpected<error> trouble(uint32_t rank, uint32_t size,
                              const std::exception& what) {
  return fail(ec::infra, fmt::format("learner rank {} of {} cannot reach the "
                                     "others: {}",
                                     rank, size, first_line(what)));
}

} // namespace

struct gloo_collective::group {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> ranks;

  result<void> sum(void* data, size_t count, at::ScalarType type) {
    try {
      std::vector<at::Tensor> all{
        at::from_blob(data, {static_cast<int64_t>(count)}, type)};
      ranks->allreduce(all)->wait();
    } catch (const std::exception& what) {
      return trouble(static_cast<uint32_t>(ranks->getRank()),
                     static_cast<uint32_t>(ranks->getSize()), what);
    }
    return {};
  }
};

gloo_collective::gloo_collective(uint32_t rank, uint32_t size)
  : rank_(rank), size_(size), group_(std::make_unique<group>()) {
  // nop
}

gloo_collective::~gloo_collective() = default;

result<std::vector<std::unique_ptr<gloo_collective>>>
gloo_collective::connect(uint32_t count, double deadline_s) {
  std::vector<std::unique_ptr<gloo_collective>> out;
  for (uint32_t rank = 0; rank < count; ++rank)
    out.emplace_back(new gloo_collective{rank, count});
  std::vector<std::optional<error>> failures(count);
  auto store = c10::make_intrusive<c10d::HashStore>();
  // Each constructor returns once it is connected to all others.
  auto join = [&](uint32_t rank) {
    try {
      out[rank]->group_->ranks = c10::make_intrusive<c10d::ProcessGroupGloo>(
        store, static_cast<int>(rank), static_cast<int>(count),
        make_options(deadline_s));
    } catch (const std::exception& what) {
      failures[rank] = trouble(rank, count, what).value();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank < count; ++rank)
      threads.emplace_back(join, rank);
  }
  for (auto& failure : failures)
    if (failure)
      return tl::unexpected{*failure};
  return out;
}

result<void> gloo_collective::sum(std::span<float> values) {
  return group_->sum(values.data(), values.size(), at::kFloat);
}

result<void> gloo_collective::sum(std::span<double> values) {
  return group_->sum(values.data(), values.size(), at::kDouble);
}

} // namespace swage
