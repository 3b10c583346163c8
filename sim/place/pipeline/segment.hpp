// What one set of layers costs as a pipeline stage: the sums that loads and memory are made of.
#pragma once

#include <span>
#include <vector>

#include "sim/place/pipeline/problem.hpp"
#include "sim/place/pipeline/rules.hpp"

namespace tessera {

/// Layers of one stage at one width. `in`: activations received; `out`: gradients received.
struct Segment {
  Seconds forward, backward;  // computing alone
  Seconds in_wait, out_wait;  // under PlacementRules::overlapped_skip_edges: what is not hidden
  Bytes in, out;              // otherwise: each tensor once
  int in_tensors = 0, out_tensors = 0;
  Bytes parameters, activations;
  Bytes boundary;  // kept of a micro-batch whose forward is recomputed
  bool tensor_parallel = false;
};

/// Edges by their ends.
class LayerEdges {
 public:
  explicit LayerEdges(const WidthProfile& profile);
  [[nodiscard]] std::span<const LayerEdge> into(int layer) const { return into_[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] std::span<const LayerEdge> out_of(int layer) const { return out_of_[static_cast<std::size_t>(layer)]; }
  /// Every layer hands something to the next one.
  [[nodiscard]] bool chain() const;
  /// The first layer that does not.
  [[nodiscard]] int first_gap() const;

 private:
  std::vector<std::vector<LayerEdge>> into_, out_of_;
};

/// The cost of `layers` (ascending). `flat`: bandwidth under overlapped_skip_edges.
Segment make_segment(const WidthProfile& profile, const LayerEdges& edges, std::span<const int> layers,
                     const PlacementRules& rules, BytesPerSec flat);

/// What a segment becomes on devices.
struct Seating {
  int devices = 1;                 // of one replica of the stage
  std::int64_t sync_replicas = 1;  // of its weights in the whole job
  NetworkLevel transfers{}, sums{};
  double speed_ratio = 1;
};
/// Time that a stage is busy with one micro-batch. Recomputation runs beside the transfer of the incoming gradient.
Seconds stage_load(const Segment& segment, const Seating& seating, bool recompute, const PipelineProblem& problem);
/// Sum of the stage's gradients over its replicas (ring), at the end of the batch.
Seconds stage_sync(const Segment& segment, const Seating& seating, const PipelineProblem& problem,
                   const PlacementRules& rules);
/// One device's memory with `in_flight` micro-batches kept. Mixed precision: 2 B weight, 2 B gradient, 4 B master
/// weight, two moments of 4 B for Adam (Rajbhandari et al., ZeRO, arXiv 1910.02054, section 3.1).
/// Not modelled: fragmentation, buffers of collectives, the context.
Bytes stage_memory(const Segment& segment, std::int64_t in_flight, bool recompute, std::int64_t sync_replicas,
                   const PipelineProblem& problem, const PlacementRules& rules);

}  // namespace tessera
