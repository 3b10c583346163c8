// Memory of the networks of sim/graph/zoo: no layers of one width, so activations are counted from the graph.
#include <fmt/format.h>

#include <algorithm>

#include "models/memory_footprint.hpp"

namespace tessera {

namespace {

/// What forward writes is kept for backward, but for activations, which run in place.
Bytes kept(const Graph& graph) {
  Bytes sum;
  for (const Operator& op : graph.operators)
    if (op.phase == Phase::forward && op.kernel.op != Op::relu && op.kernel.op != Op::silu)
      sum += traffic(op.kernel).written;
  return sum;
}

/// Operands and results of the largest operator.
Bytes live(const Graph& graph) {
  Bytes most;
  for (const Operator& op : graph.operators)
    if (op.phase == Phase::forward) most = std::max(most, traffic(op.kernel).total());
  return most;
}

}  // namespace

MemoryFootprint network_footprint(const BuildOptions& options, const Graph& graph, Bytes context) {
  const double parameters = static_cast<double>(parameter_count(graph)), each = element_size(options.dtype).value();
  const std::string count = fmt::format("{:.4g} M parameters", parameters * 1e-6);
  MemoryFootprint result;
  const auto add = [&](std::string name, Bytes size, std::string formula) {
    result.components.push_back({std::move(name), size, std::move(formula)});
  };
  add("weights", Bytes(parameters * each), fmt::format("{} x {} B", count, each));
  if (options.mode == Mode::training) {
    const bool adam = options.optimizer == OptimizerKind::adam;
    const double state = each < 4 ? 12 : 8;  // two fp32 moments, and fp32 master weights of 16-bit ones
    add("gradients", Bytes(parameters * each), fmt::format("{} x {} B", count, each));
    add("optimizer", Bytes(adam ? parameters * state : 0),
        adam ? fmt::format("Adam: {} x {} B", count, state) : "no optimizer");
    add("activations", kept(graph), "what the forward operators of one micro-batch write, activations in place");
  } else {
    add("activations", live(graph), "operands and results of the largest operator");
  }
  add("context", context, "CUDA context and libraries");
  return result;
}

}  // namespace tessera
