// Random chains with skip edges as placement problems, for tests of the solvers.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/place/pipeline/problem.hpp"

namespace tessera {

struct RandomPlacement {
  int most_layers = 7;
  std::vector<int> widths{1, 2, 4};
  bool mixed_widths = true;  // layers of which some are not tensor-parallel
};

namespace detail {

inline double between(Rng& rng, double low, double high) {
  return low + (high - low) * rng.uniform();
}

inline std::vector<LayerEdge> random_edges(Rng& rng, int layers) {
  std::vector<LayerEdge> edges;
  for (int i = 0; i + 1 < layers; ++i) edges.push_back({i, i + 1, Bytes(between(rng, 0, 1e7))});
  if (layers < 3) return edges;
  for (std::uint32_t skips = rng.below(3); skips > 0; --skips) {
    const int from = static_cast<int>(rng.below(static_cast<std::uint32_t>(layers - 2)));
    const int to = from + 2 + static_cast<int>(rng.below(static_cast<std::uint32_t>(layers - from - 2)));
    const auto same = [&](const LayerEdge& edge) { return edge.from == from && edge.to == to; };
    if (std::ranges::none_of(edges, same)) edges.push_back({from, to, Bytes(between(rng, 0, 1e7))});
  }
  return edges;
}

}  // namespace detail

inline PipelineProblem random_placement(Rng& rng, const RandomPlacement& how = {}) {
  using detail::between;
  PipelineProblem problem;
  const int layers = 1 + static_cast<int>(rng.below(static_cast<std::uint32_t>(how.most_layers)));
  const auto edges = detail::random_edges(rng, layers);
  std::vector<LayerCost> base;
  for (int i = 0; i < layers; ++i) {
    const double forward = between(rng, 0.001, 0.05);
    base.push_back({.forward = Seconds(forward),
                    .backward = Seconds(forward * between(rng, 1, 2.5)),
                    .parameters = Bytes(between(rng, 1e6, 1e8)),
                    .activations = Bytes(between(rng, 1e6, 1e8)),
                    .tensor_parallel = !how.mixed_widths || rng.below(4) > 0});
  }
  Bytes total;
  for (const LayerCost& layer : base) total += 2.0 * layer.parameters + layer.activations;
  for (const int width : how.widths) {
    const bool needed = width == how.widths.back() && problem.widths.empty();
    if (!needed && rng.below(3) == 0) continue;
    WidthProfile profile{width, base, edges};
    for (LayerCost& layer : profile.layers) {
      layer.tensor_parallel = layer.tensor_parallel && width > 1;
      if (!layer.tensor_parallel) continue;
      layer.forward = layer.forward * (1.0 / (0.85 * width) + 0.06);
      layer.backward = layer.backward * (1.0 / (0.85 * width) + 0.06);
      layer.parameters /= width;
      layer.activations = layer.activations / std::pow(width, 0.9);
    }
    problem.widths.push_back(std::move(profile));
  }
  const int devices = 1 + static_cast<int>(rng.below(24));
  problem.pools = {{"", devices, total * between(rng, 0.1, 2.5)}};
  problem.network = {{devices, BytesPerSec(std::pow(10.0, between(rng, 7.5, 11))), Seconds(0)}};
  problem.micro_batches = 1 + rng.below(40);
  problem.optimizer = rng.below(2) == 0 ? PipelineOptimizer::sgd : PipelineOptimizer::adam;
  problem.recomputation = rng.below(2) == 0;
  return problem;
}

}  // namespace tessera
