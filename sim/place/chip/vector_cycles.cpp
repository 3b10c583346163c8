#include "sim/place/chip/vector_cycles.hpp"

#include <array>
#include <cmath>

namespace tessera {
namespace {

struct Row {
  VectorOp op;
  double forward, backward;
};
constexpr std::array kTable{
    Row{VectorOp::view, 0, 0},    Row{VectorOp::add, 1, 1},      Row{VectorOp::multiply, 1, 1},
    Row{VectorOp::negate, 1, 1},  Row{VectorOp::divide, 10, 10}, Row{VectorOp::power, 15, 16},
    Row{VectorOp::mean, 10, 10},  Row{VectorOp::root, 15, 16},   Row{VectorOp::sine, 13, 2},
    Row{VectorOp::cosine, 13, 2}, Row{VectorOp::relu, 1, 1},     Row{VectorOp::gelu, 1, 1},
    Row{VectorOp::silu, 12, 2},   Row{VectorOp::tanh, 27, 2},    Row{VectorOp::softmax, 11, 2},
    Row{VectorOp::dropout, 2, 1}, Row{VectorOp::mask, 1, 1},     Row{VectorOp::layernorm, 1, 1},
};
constexpr double kSoftmaxTail = 10;  // cycles after the last element, forward

double sum_of(const std::vector<VectorOp>& ops, Direction direction) {
  double cycles = 0;
  for (const VectorOp op : ops) cycles += vector_cycles_per_element(op, direction, false);
  return cycles;
}

}  // namespace

double vector_cycles_per_element(VectorOp op, Direction direction, bool binary) {
  const Row& row = kTable[static_cast<std::size_t>(op)];
  if (direction == Direction::forward) return row.forward;
  return binary && (op == VectorOp::add || op == VectorOp::multiply) ? 2 : row.backward;
}

VectorCost vector_cost(const SystolicChip& chip, const LayerOperator& op, Direction direction, int cores,
                       const ChipRules& rules) {
  const double lanes = static_cast<double>(chip.lanes) * cores;
  const auto elements = static_cast<double>(op.elements);
  double per_element = sum_of(op.fused, direction);
  if (op.fused.empty() || !rules.free_vector_memory)
    per_element += vector_cycles_per_element(op.vector, direction, op.operands > 1);
  VectorCost cost{.cycles = std::ceil(elements / lanes) * per_element};
  if (op.vector == VectorOp::softmax && direction == Direction::forward) cost.cycles += kSoftmaxTail;
  if (direction == Direction::backward) cost.cycles += std::ceil(static_cast<double>(op.parameter_elements) / lanes);
  if (rules.free_vector_memory) return cost;
  const Bytes tensor = elements * kSystolicWord;
  // Backward reads the gradient and the kept operands, and writes a gradient for each operand.
  const double tensors =
      direction == Direction::forward ? static_cast<double>(op.operands) + 1 : 1 + 2 * static_cast<double>(op.operands);
  if (tensor > chip.buffer / 2) cost.hbm = tensor * tensors;
  cost.cycles = std::max(cost.cycles, cost.hbm / hbm_bandwidth(chip) * kSystolicClock);
  return cost;
}

double fused_cycles(const SystolicChip& chip, const LayerOperator& op, Direction direction, int cores,
                    const ChipRules& rules) {
  const double per_element = sum_of(op.fused, direction);
  if (rules.free_vector_memory) return per_element;
  return std::ceil(static_cast<double>(op.elements) / (static_cast<double>(chip.lanes) * cores)) * per_element;
}

}  // namespace tessera
