#include "sim/place/pipeline/segment.hpp"

#include <algorithm>

#include "models/collectives/ring.hpp"

namespace tessera {
namespace {

bool holds(std::span<const int> layers, int layer) {
  return std::ranges::binary_search(layers, layer);
}

/// Bytes and number of the tensors that cross the stage's border: of each source, the largest edge.
void add_received(Segment& segment, const LayerEdges& edges, std::span<const int> layers) {
  std::vector<LayerEdge> incoming;
  for (const int layer : layers) {
    for (const LayerEdge& edge : edges.into(layer))
      if (!holds(layers, edge.from)) incoming.push_back(edge);
    Bytes gradient;
    bool read = false;
    for (const LayerEdge& edge : edges.out_of(layer)) {
      if (holds(layers, edge.to)) continue;
      gradient = max(gradient, edge.bytes);
      read = true;
    }
    segment.out += gradient;
    segment.out_tensors += read ? 1 : 0;
  }
  std::ranges::sort(incoming, [](const LayerEdge& a, const LayerEdge& b) {
    return a.from != b.from ? a.from < b.from : a.bytes > b.bytes;
  });
  int last = -1;
  for (const LayerEdge& edge : incoming) {
    if (edge.from == last) continue;
    last = edge.from;
    segment.in += edge.bytes;
    ++segment.in_tensors;
  }
  segment.boundary = segment.in;
}

/// A chain's forward and backward with transfers that start at once and are waited for where they are needed.
void add_waits(Segment& segment, const WidthProfile& profile, const LayerEdges& edges, std::span<const int> layers,
               BytesPerSec flat) {
  Seconds forward, backward;
  for (const int layer : layers) {
    for (const LayerEdge& edge : edges.into(layer)) {
      if (holds(layers, edge.from)) continue;
      forward = max(forward, edge.bytes / flat);
      segment.boundary += edge.bytes;
    }
    forward += profile.layers[static_cast<std::size_t>(layer)].forward;
  }
  for (auto at = layers.rbegin(); at != layers.rend(); ++at) {
    for (const LayerEdge& edge : edges.out_of(*at))
      if (!holds(layers, edge.to)) backward = max(backward, edge.bytes / flat);
    backward += profile.layers[static_cast<std::size_t>(*at)].backward;
  }
  segment.in_wait = max(Seconds(0), forward - segment.forward);
  segment.out_wait = max(Seconds(0), backward - segment.backward);
}

Seconds transfer_time(Seconds wait, Bytes bytes, int tensors, const NetworkLevel& level) {
  return wait + bytes / level.bandwidth + tensors * level.latency;
}

/// Full ZeRO gathers the weights of a stage for each micro-batch, forward and backward.
Seconds gather_time(const Segment& segment, const Seating& seating, const PipelineProblem& problem) {
  if (problem.zero_stage < 3) return Seconds(0);
  return ring_time(CollectiveKind::all_gather, static_cast<int>(seating.sync_replicas), segment.parameters,
                   seating.sums.bandwidth, seating.sums.latency);
}

/// Bytes of optimizer state per byte of parameters: fp32 master weights where those are narrower, Adam's two moments.
double state_ratio(const PipelineProblem& problem) {
  const double element = problem.parameter_element.value();
  const double master = element < 4 ? 4 : 0, moments = problem.optimizer == PipelineOptimizer::adam ? 8 : 0;
  return (master + moments) / element;
}

}  // namespace

LayerEdges::LayerEdges(const WidthProfile& profile) : into_(profile.layers.size()), out_of_(profile.layers.size()) {
  for (const LayerEdge& edge : profile.edges) {
    into_[static_cast<std::size_t>(edge.to)].push_back(edge);
    out_of_[static_cast<std::size_t>(edge.from)].push_back(edge);
  }
}

int LayerEdges::first_gap() const {
  const auto last = static_cast<int>(out_of_.size()) - 1;
  for (int layer = 0; layer < last; ++layer)
    if (std::ranges::none_of(out_of(layer), [&](const LayerEdge& edge) { return edge.to == layer + 1; })) return layer;
  return last;
}

bool LayerEdges::chain() const {
  return first_gap() + 1 == static_cast<int>(out_of_.size());
}

Segment make_segment(const WidthProfile& profile, const LayerEdges& edges, std::span<const int> layers,
                     const PlacementRules& rules, BytesPerSec flat) {
  Segment segment;
  for (const int layer : layers) {
    const LayerCost& cost = profile.layers[static_cast<std::size_t>(layer)];
    segment.forward += cost.forward;
    segment.backward += cost.backward;
    segment.parameters += cost.parameters;
    segment.activations += cost.activations;
    segment.tensor_parallel = segment.tensor_parallel || cost.tensor_parallel;
  }
  if (rules.overlapped_skip_edges) {
    add_waits(segment, profile, edges, layers, flat);
  } else {
    add_received(segment, edges, layers);
  }
  return segment;
}

Seconds stage_load(const Segment& segment, const Seating& seating, bool recompute, const PipelineProblem& problem) {
  const Seconds forward = segment.forward / seating.speed_ratio, backward = segment.backward / seating.speed_ratio;
  const Seconds in = transfer_time(segment.in_wait, segment.in, segment.in_tensors, seating.transfers);
  if (!problem.training) return in + forward;
  const Seconds out = transfer_time(segment.out_wait, segment.out, segment.out_tensors, seating.transfers);
  return in + forward + (recompute ? max(forward, out) : out) + backward + 2.0 * gather_time(segment, seating, problem);
}

Seconds stage_sync(const Segment& segment, const Seating& seating, const PipelineProblem& problem,
                   const PlacementRules& rules) {
  if (!problem.training) return {};
  const auto replicas = static_cast<double>(seating.sync_replicas);
  if (rules.doubled_sync) return 4.0 * (replicas - 1) / replicas * (segment.parameters / seating.sums.bandwidth);
  const auto kind = problem.zero_stage < 3 ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
  return ring_time(kind, static_cast<int>(seating.sync_replicas), segment.parameters, seating.sums.bandwidth,
                   seating.sums.latency);
}

Bytes stage_memory(const Segment& segment, std::int64_t in_flight, bool recompute, std::int64_t sync_replicas,
                   const PipelineProblem& problem, const PlacementRules& rules) {
  const Bytes each = recompute ? segment.boundary : segment.activations;
  const Bytes kept = segment.activations + static_cast<double>(in_flight - 1) * each;
  if (!problem.training) return segment.parameters + kept;
  if (rules.lean_optimizer)
    return (problem.optimizer == PipelineOptimizer::adam ? 3.0 : 2.0) * segment.parameters + kept;
  const auto share = [&](int stage) {
    return problem.zero_stage >= stage ? 1.0 / static_cast<double>(sync_replicas) : 1.0;
  };
  return segment.parameters * (share(3) + share(2) + state_ratio(problem) * share(1)) + kept;
}

}  // namespace tessera
