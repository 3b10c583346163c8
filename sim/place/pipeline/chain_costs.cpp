#include "sim/place/pipeline/chain_costs.hpp"

#include <algorithm>

namespace tessera {

ChainCosts::ChainCosts(const WidthProfile& profile, const LayerEdges& edges, const PipelineProblem& problem)
    : layers_(static_cast<int>(profile.layers.size())),
      stages_(static_cast<std::size_t>(layers_ + 1) * static_cast<std::size_t>(layers_ + 1)) {
  sums(profile, edges, problem);
  backwards(profile, edges, problem);
}

/// Forward times into both loads; what is additive.
void ChainCosts::sums(const WidthProfile& profile, const LayerEdges& edges, const PipelineProblem& problem) {
  const BytesPerSec bandwidth = problem.network.back().bandwidth;
  const double resident = !problem.training ? 1 : problem.optimizer == PipelineOptimizer::adam ? 3 : 2;
  for (int first = 0; first < layers_; ++first) {
    Seconds forward;
    Stage sum;
    Bytes boundary, activations;
    for (int end = first + 1; end <= layers_; ++end) {
      const LayerCost& cost = profile.layers[static_cast<std::size_t>(end - 1)];
      for (const LayerEdge& edge : edges.into(end - 1)) {
        if (edge.from >= first) continue;
        forward = max(forward, edge.bytes / bandwidth);
        boundary += edge.bytes;
      }
      forward += cost.forward;
      activations += cost.activations;
      sum.parameters += cost.parameters;
      sum.compute += cost.forward;
      if (cost.tensor_parallel) sum.devices = profile.width;
      Stage& stage = stages_[index(first, end)];
      stage = sum;
      stage.last_load = stage.inner_load = forward;
      stage.constant = resident * sum.parameters + activations;
      stage.stash = problem.recomputation ? boundary : activations;
    }
  }
}

void ChainCosts::backwards(const WidthProfile& profile, const LayerEdges& edges, const PipelineProblem& problem) {
  const BytesPerSec bandwidth = problem.network.back().bandwidth;
  for (int end = layers_; end > 0; --end) {
    Seconds backward, compute;
    for (int first = end - 1; first >= 0; --first) {
      for (const LayerEdge& edge : edges.out_of(first))
        if (edge.to >= end && problem.training) backward = max(backward, edge.bytes / bandwidth);
      backward += profile.layers[static_cast<std::size_t>(first)].backward;
      compute += profile.layers[static_cast<std::size_t>(first)].backward;
      Stage& stage = stages_[index(first, end)];
      stage.last_load += backward;
      stage.inner_load += problem.recomputation ? max(stage.compute + compute, backward) : backward;
      stage.compute += compute;
    }
  }
}

}  // namespace tessera
