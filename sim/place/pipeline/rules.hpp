// Which of the original placement's simplifications hold; all off is the corrected model.
#pragma once

namespace tessera {

/// Each names what the program released with "Integrated Hardware Architecture and Device Placement Search" (ICML 2024,
/// arXiv 2407.13143) computes; off: what this simulator takes to be right.
struct PlacementRules {
  /// Only the first stage's gradients are summed over the replicas. Off: of the stages, which sum beside each other,
  /// the slowest counts.
  bool first_stage_sync_only = false;
  /// Twice the ring's bytes for a gradient sum, 4 (d-1)/d. Off: 2 (d-1)/d, and the ring's latency.
  bool doubled_sync = false;
  /// The pipeline fills and drains at the slowest stage's pace. Off: every stage at its own.
  bool slowest_stage_fill = false;
  /// Weights and gradients (and one moment for Adam) at the parameters' size. Off: fp32 master weights and both
  /// moments, divided by ZeRO.
  bool lean_optimizer = false;
  /// Transfers of skip edges hide behind computation, and a tensor with two readers is sent twice. Off: a stage's port
  /// carries each tensor once, one after the other.
  bool overlapped_skip_edges = false;
  /// A stage keeps as many micro-batches in flight as there are stages up to the end. Off: no more than it gets.
  bool endless_micro_batches = false;

  [[nodiscard]] static constexpr PlacementRules phaze() { return {true, true, true, true, true, true}; }
};

}  // namespace tessera
