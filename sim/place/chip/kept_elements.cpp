#include "sim/place/chip/kept_elements.hpp"

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

bool non_linear(VectorOp op) {
  switch (op) {
    case VectorOp::view:
    case VectorOp::add:
    case VectorOp::negate:
    case VectorOp::divide:  // by a number
    case VectorOp::mask:
    case VectorOp::dropout:
    case VectorOp::softmax:
      return false;
    default:
      return true;
  }
}

bool keeps_inputs(const LayerOperator& op) {
  if (op.core == CoreClass::tensor || op.core == CoreClass::fused) return true;
  return op.core == CoreClass::vector && non_linear(op.vector);
}

bool keeps_output(const LayerOperator& op) {
  return op.core == CoreClass::vector && op.vector == VectorOp::softmax;
}

bool follows(const LayerOperator& op, bool (*what)(VectorOp)) {
  return op.core == CoreClass::fused && std::ranges::any_of(op.fused, what);
}

/// Marks what `op` reads: the nearest operators before it that compute, or the views of the layer's inputs.
void mark_inputs(const LayerGraph& graph, const std::vector<std::vector<int>>& before, int op,
                 std::vector<bool>& kept) {
  std::vector<int> open = before[static_cast<std::size_t>(op)];
  std::vector<bool> seen(graph.operators.size(), false);
  while (!open.empty()) {
    const auto at = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    if (graph.operators[at].core != CoreClass::none || before[at].empty())
      kept[at] = true;
    else
      open.insert(open.end(), before[at].begin(), before[at].end());
  }
}

}  // namespace

std::int64_t kept_elements(const LayerGraph& graph) {
  const std::size_t count = graph.operators.size();
  std::vector<std::vector<int>> before(count);
  for (const Precedence& edge : graph.edges) before[static_cast<std::size_t>(edge.after)].push_back(edge.before);
  std::vector<bool> kept(count, false);
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const LayerOperator& op = graph.operators[i];
    if (keeps_inputs(op)) mark_inputs(graph, before, static_cast<int>(i), kept);
    if (keeps_output(op)) kept[i] = true;
    if (follows(op, non_linear)) elements += op.elements;  // the product's result, before its followers
    if (op.vector == VectorOp::dropout || follows(op, [](VectorOp f) { return f == VectorOp::dropout; }))
      elements += op.elements / 2;  // a mask of bytes
  }
  for (std::size_t i = 0; i < count; ++i)
    if (kept[i]) elements += graph.operators[i].elements;
  return elements;
}

}  // namespace tessera
