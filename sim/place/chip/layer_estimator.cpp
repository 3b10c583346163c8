#include "sim/place/chip/layer_estimator.hpp"

#include <algorithm>

#include "sim/place/chip/gemm_cycles.hpp"

namespace tessera {
namespace {

// Register accesses of a multiply-add: two operands, a partial sum read and written.
constexpr double kRegisterAccesses = 4;
// Words from the buffer for each word between SRAM and the arrays, over the recorded mappings (0.3 to 1.5 on linear
// layers).

CoreClass core_in(const LayerOperator& op, Direction direction) {
  if (op.summed_forward && *op.summed_forward != (direction == Direction::forward)) return CoreClass::none;
  return op.core;
}

/// In the direction of forward, with the cores of either pass.
OperatorGraph graph_of(const LayerGraph& layer, Direction direction) {
  OperatorGraph graph{.core = {}, .edges = layer.edges};
  for (const LayerOperator& op : layer.operators) graph.core.push_back(core_in(op, direction));
  return graph;
}

std::vector<int> weight_gradients(const LayerGraph& layer, const ChipRules& rules) {
  std::vector<int> result;
  for (std::size_t i = 0; i < layer.operators.size() && !rules.no_weight_gradients; ++i)
    if (layer.operators[i].gemm.weight) result.push_back(static_cast<int>(i));
  return result;
}

/// Reversed; the weight gradient of an operator waits for what its input gradient waits for, and nothing waits for it.
OperatorGraph backward_graph(const LayerGraph& layer, const std::vector<int>& gradients) {
  OperatorGraph graph = graph_of(layer, Direction::backward);
  for (Precedence& edge : graph.edges) std::swap(edge.before, edge.after);
  for (const int of : gradients) {
    const int index = static_cast<int>(graph.core.size());
    graph.core.push_back(CoreClass::tensor);
    for (const Precedence& edge : layer.edges)
      if (edge.before == of) graph.edges.push_back({edge.after, index});
  }
  return graph;
}

GemmWork input_gradient(GemmWork work) {
  std::swap(work.c, work.k);
  return work;
}

/// c x k, over all rows of the batch.
GemmWork weight_gradient(const GemmWork& work) {
  return {.batch = 1, .n = work.c, .c = work.batch * work.n, .k = work.k, .weight = false};
}

double macs_of(const GemmWork& work) {
  return static_cast<double>(work.batch) * static_cast<double>(work.n) * static_cast<double>(work.c) *
         static_cast<double>(work.k);
}

}  // namespace

SharedBandwidth shared_bandwidth(const SystolicChip& chip) {
  return {hbm_bandwidth(chip), kBufferWords * kSystolicWord * kSystolicClock};
}

Hertz estimator_clock(const ChipRules& rules) {
  return rules.mixed_time_units ? kSystolicClock / 1000.0 : kSystolicClock;
}

LayerEstimator::LayerEstimator(LayerGraph layer, int width, BytesPerSec network, const ChipRules& rules)
    : layer_(std::move(layer)),
      width_(width),
      network_(network),
      rules_(rules),
      forward_(graph_of(layer_, Direction::forward)),
      weight_gradients_(weight_gradients(layer_, rules_)),
      backward_(backward_graph(layer_, weight_gradients_)) {}

/// Collects the operators of one pass on one chip.
struct LayerEstimator::Adder {
  const SystolicChip& chip;
  Hertz clock;
  SystolicEnergy energy;
  bool shared;  // the rules share memory ports
  PassCost pass{};

  /// No core's work: nothing, or a transfer.
  void skip(OperatorLatency latency) {
    pass.latency.push_back(latency);
    if (shared) pass.traffic.emplace_back();
  }
  void add(double one_cycles, double all_cycles, Bytes hbm, double macs, double sram_words) {
    pass.latency.push_back({one_cycles / clock, all_cycles / clock});
    if (shared) pass.traffic.push_back({hbm, kBufferShare * sram_words * kSystolicWord});
    pass.dynamic_energy += macs * (energy.mac + kRegisterAccesses * energy.register_word) +
                           sram_words * (energy.sram_word + kBufferShare * energy.buffer_word) +
                           hbm / kSystolicWord * energy.dram_word;
  }
};

PassCost LayerEstimator::cost(const SystolicChip& chip, Direction direction) const {
  Adder to{
      .chip = chip, .clock = estimator_clock(rules_), .energy = energy(chip), .shared = !rules_.free_product_memory};
  for (const LayerOperator& op : layer_.operators) add(to, op, direction);
  if (direction == Direction::forward) return std::move(to.pass);
  for (const int of : weight_gradients_) {
    const GemmWork work = weight_gradient(layer_.operators[static_cast<std::size_t>(of)].gemm);
    const GemmCost one = gemm_cost(chip, work, 1, rules_);
    const GemmCost all = gemm_cost(chip, work, chip.tensor_cores, rules_);
    to.add(one.cycles, all.cycles, all.hbm, macs_of(work), all.sram_words);
  }
  return std::move(to.pass);
}

void LayerEstimator::add(Adder& to, const LayerOperator& op, Direction direction) const {
  const CoreClass core = core_in(op, direction);
  if (core == CoreClass::none) {
    to.skip({});
  } else if (op.summed_forward) {  // a ring's all-reduce
    const Bytes bytes = static_cast<double>(op.elements) * kSystolicWord;
    const Seconds time = 2.0 * (width_ - 1) / width_ * bytes / network_;
    to.skip({time, time});
  } else if (core == CoreClass::vector) {
    const VectorCost one = vector_cost(to.chip, op, direction, 1, rules_);
    const VectorCost all = vector_cost(to.chip, op, direction, to.chip.vector_cores, rules_);
    to.add(one.cycles, all.cycles, one.hbm, 0, 2 * static_cast<double>(op.elements));
  } else {
    add_product(to, op, direction);
  }
}

/// A product and the vector functions fused to it, which work beside it unless the rules add their cycles once.
void LayerEstimator::add_product(Adder& to, const LayerOperator& op, Direction direction) const {
  const GemmWork work = direction == Direction::forward ? op.gemm : input_gradient(op.gemm);
  const GemmCost one = gemm_cost(to.chip, work, 1, rules_);
  const GemmCost all = gemm_cost(to.chip, work, to.chip.tensor_cores, rules_);
  const auto with_fused = [&](double gemm, int cores) {
    const double fused = fused_cycles(to.chip, op, direction, cores, rules_);
    return rules_.free_vector_memory ? gemm + fused : std::max(gemm, fused);
  };
  to.add(with_fused(one.cycles, 1), with_fused(all.cycles, to.chip.vector_cores), all.hbm, macs_of(work),
         all.sram_words);
}

}  // namespace tessera
