// What a layer's operators cost on a chip: latencies for the operator schedule, traffic and energy.
#pragma once

#include <vector>

#include "sim/base/units.hpp"
#include "sim/place/chip/chip_rules.hpp"
#include "sim/place/chip/layer_graph.hpp"
#include "sim/place/chip/systolic.hpp"
#include "sim/place/chip/vector_cycles.hpp"
#include "sim/place/schedule/problem.hpp"
#include "sim/place/schedule/sharing.hpp"

namespace tessera {

/// One pass of one layer on one chip.
struct PassCost {
  std::vector<OperatorLatency> latency;  // indexed as the pass's graph
  std::vector<SharedTraffic> traffic;    // the same; empty where the rules share nothing
  Joules dynamic_energy{};
};

/// Prepared once for a layer, then used for thousands of chips; const and safe from several threads.
/// Backward is forward reversed; with weight gradients, each is an operator that nothing waits for.
class LayerEstimator {
 public:
  /// `width`: of the tensor-parallel group, whose sums go over `network`.
  LayerEstimator(LayerGraph layer, int width, BytesPerSec network, const ChipRules& rules);

  [[nodiscard]] const LayerGraph& layer() const { return layer_; }
  [[nodiscard]] const OperatorOrder& order(Direction direction) const {
    return direction == Direction::forward ? forward_ : backward_;
  }
  [[nodiscard]] PassCost cost(const SystolicChip& chip, Direction direction) const;

 private:
  struct Adder;
  void add(Adder& to, const LayerOperator& op, Direction direction) const;
  void add_product(Adder& to, const LayerOperator& op, Direction direction) const;

  LayerGraph layer_;
  int width_;
  BytesPerSec network_;
  ChipRules rules_;
  OperatorOrder forward_;
  std::vector<int> weight_gradients_;  // of these operators; they follow the layer in the backward graph
  OperatorOrder backward_;
};

/// What all cores of a chip share.
SharedBandwidth shared_bandwidth(const SystolicChip& chip);

/// Clock that turns cycles into seconds: 1.05 GHz, or 1.05 MHz where the rules mix units.
Hertz estimator_clock(const ChipRules& rules);

}  // namespace tessera
