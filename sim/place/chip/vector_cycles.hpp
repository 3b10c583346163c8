// Cycles of a vector function on a systolic chip's vector cores.
#pragma once

#include "sim/place/chip/chip_rules.hpp"
#include "sim/place/chip/layer_graph.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {

enum class Direction : std::uint8_t { forward, backward };

/// Cycles an element: the original's table. `binary`: both operands need a gradient.
double vector_cycles_per_element(VectorOp op, Direction direction, bool binary);

struct VectorCost {
  double cycles = 0;  // HBM's part included
  Bytes hbm{};
};

/// A vector function with its fused followers on `cores` vector cores, alone on the chip: ceil(elements / lanes) times
/// the sum of the followers (of the function itself, where there are none), plus the sum of a weight's gradient.
VectorCost vector_cost(const SystolicChip& chip, const LayerOperator& op, Direction direction, int cores,
                       const ChipRules& rules);

/// What fused followers add to a product.
double fused_cycles(const SystolicChip& chip, const LayerOperator& op, Direction direction, int cores,
                    const ChipRules& rules);

}  // namespace tessera
