// Small placement problems and plans that can be worked out by hand.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/place/pipeline/placement.hpp"

namespace tessera {

/// A chain of equal layers on a flat network of 1 GB/s without latency: forward 1 s, backward 2 s, 1 GB of parameters
/// and 2 GB of activations each, 0.5 GB between them. Memory for everything.
inline PipelineProblem chain(int layers, int devices, std::int64_t micro_batches) {
  PipelineProblem problem;
  WidthProfile& profile = problem.widths.emplace_back();
  profile.layers.assign(
      static_cast<std::size_t>(layers),
      {.forward = Seconds(1), .backward = Seconds(2), .parameters = Bytes(1e9), .activations = Bytes(2e9)});
  for (int i = 0; i + 1 < layers; ++i) profile.edges.push_back({i, i + 1, Bytes(0.5e9)});
  problem.pools = {{"", devices, Bytes(1e15)}};
  problem.network = {{devices, BytesPerSec(1e9), Seconds(0)}};
  problem.micro_batches = micro_batches;
  return problem;
}

inline PipelineStage stage(int first, int last, int replicas = 1, bool recompute = false) {
  PipelineStage result{.replicas = replicas, .recompute = recompute};
  result.layers.resize(static_cast<std::size_t>(last - first + 1));
  std::iota(result.layers.begin(), result.layers.end(), first);
  return result;
}

inline PipelinePlan plan_of(std::vector<PipelineStage> stages, int replicas = 1) {
  PipelinePlan plan;
  plan.stages = std::move(stages);
  plan.replicas = replicas;
  return plan;
}

}  // namespace tessera
