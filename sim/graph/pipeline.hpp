// Pipeline parallelism: which stage an operator belongs to, and the order in which a stage runs its passes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/graph.hpp"
#include "sim/graph/parallel.hpp"

namespace tessera {

/// Of a backward pass: all of it, or the gradients of inputs or of parameters alone.
enum class BackwardPart : std::uint8_t { all, inputs, parameters };

/// One pass of one micro-batch through one chunk of a device's layers.
struct Pass {
  std::int64_t micro_batch = 0;
  int chunk = 0;  // of the device's
  bool forward = true;
  BackwardPart part = BackwardPart::all;
};

/// The passes of replica `replica` of device `device` in the schedule of `spec`. RunError where interleaving wants what
/// the counts do not give: micro-batches that are a multiple of pp.
/// A replica of r keeps ceil(a / r) micro-batches, a: stage replicas from its stage to the end of the pipeline
/// (PipeDream, arXiv 1806.03377, section 3.2). A stage of r' replicas that follows starts its forward of micro-batch m
/// after at most (ceil((a - r) / r') - 1) r' <= a - r - 1 later ones, fewer than are kept before it: no deadlock.
std::vector<Pass> pass_order(const ParallelSpec& spec, int device, int replica = 0);

/// The passes of device `device` of `devices` in the order in which it runs them: forwards until the pipeline is full,
/// then one forward and one backward in turn (1F1B; PipeDream, arXiv 1806.03377), with several chunks per device in
/// Megatron-LM's interleaved order (Narayanan et al., arXiv 2104.04473, section 2.2), for which `devices` divides
/// `micro_batches`.
std::vector<Pass> one_f_one_b_order(int device, int devices, int chunks, std::int64_t micro_batches);

/// Layers 0, 1, ... of `layers` to `stages`: as many to each as `given` says (none to the first, which then holds the
/// embedding alone, or to the last, which holds the head), or equally many and one more to the first ones. RunError
/// where there are fewer layers than stages, or the counts do not add up.
std::vector<int> stage_of_layers(int layers, int stages, const std::vector<int>& given);

struct StageMap {
  std::vector<int> of_operator, of_parameter;
};
/// What lies before the layers (embedding) goes to the first stage, what lies behind them (head, loss) to the last.
/// RunError for a graph whose layers read more than the layer before them (encoder-decoder).
StageMap assign_stages(const Graph& graph, int stages, const std::vector<int>& given);

}  // namespace tessera
