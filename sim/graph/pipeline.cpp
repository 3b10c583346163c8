#include "sim/graph/pipeline.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

/// The n-th forward or backward pass: groups of `devices` micro-batches go through the chunks in turn, backward from
/// the last chunk.
Pass nth(std::int64_t n, int devices, int chunks, bool forward) {
  const std::int64_t group = n / (std::int64_t{devices} * chunks), inside = n % (std::int64_t{devices} * chunks);
  const int chunk = static_cast<int>(inside / devices);
  return {group * devices + inside % devices, forward ? chunk : chunks - 1 - chunk, forward, BackwardPart::all};
}

/// Places what has no layer by what came before it in its phase.
class Position {
 public:
  Position(const std::vector<int>& stage_of_layer, int stages) : stage_of_layer_(stage_of_layer), last_(stages - 1) {}

  int stage(std::int32_t layer, bool backwards) {
    if (layer < 0) return behind_ != backwards ? last_ : 0;
    behind_ = true;
    return stage_of_layer_[static_cast<std::size_t>(layer)];
  }

 private:
  const std::vector<int>& stage_of_layer_;
  int last_;
  bool behind_ = false;
};

int layer_count(const Graph& graph) {
  std::int32_t most = -1;
  for (const Operator& op : graph.operators) most = std::max(most, op.layer);
  return most + 1;
}

}  // namespace

namespace {

/// So many forwards, then forward and backward in turn.
std::vector<Pass> in_turn(int devices, int chunks, std::int64_t passes, std::int64_t warm_up) {
  std::vector<Pass> order;
  for (std::int64_t n = 0; n < warm_up; ++n) order.push_back(nth(n, devices, chunks, true));
  for (std::int64_t n = 0; n < passes; ++n) {
    if (warm_up + n < passes) order.push_back(nth(warm_up + n, devices, chunks, true));
    order.push_back(nth(n, devices, chunks, false));
  }
  return order;
}

/// Of one of a stage's replicas, which takes every so-manieth micro-batch.
std::vector<Pass> replica_order(const ParallelSpec& spec, int stage, int replica) {
  const std::int64_t each = spec.replicas_of(stage);
  const std::int64_t passes = (spec.micro_batches - replica + each - 1) / each;
  const std::int64_t to_the_end = spec.programs() - spec.first_program(stage);
  std::vector<Pass> order = in_turn(1, 1, passes, std::min((to_the_end + each - 1) / each - 1, passes));
  for (Pass& pass : order) pass.micro_batch = replica + pass.micro_batch * each;
  return order;
}

}  // namespace

std::vector<Pass> one_f_one_b_order(int device, int devices, int chunks, std::int64_t micro_batches) {
  TESSERA_ASSERT(chunks == 1 || micro_batches % devices == 0, "interleaved stages divide the micro-batches");
  const std::int64_t passes = micro_batches * chunks;
  std::int64_t warm_up = devices - 1 - device;
  if (chunks > 1) warm_up = 2 * warm_up + std::int64_t{chunks - 1} * devices;
  return in_turn(devices, chunks, passes, std::min(warm_up, passes));
}

namespace {

std::vector<Pass> gpipe_order(std::int64_t micro_batches) {
  std::vector<Pass> order;
  for (const bool forward : {true, false})
    for (std::int64_t m = 0; m < micro_batches; ++m) order.push_back({.micro_batch = m, .forward = forward});
  return order;
}

/// ZB-H1: as 1F1B, with the parameters' gradients of device d put off by d micro-batches, so that every device keeps as
/// many micro-batches as the first one does in 1F1B.
std::vector<Pass> zero_bubble_order(int device, int devices, std::int64_t micro_batches) {
  std::vector<Pass> order;
  const auto parameters = [&](std::int64_t m) {
    order.push_back({.micro_batch = m, .forward = false, .part = BackwardPart::parameters});
  };
  for (const Pass& pass : one_f_one_b_order(device, devices, 1, micro_batches)) {
    order.push_back(pass);
    if (pass.forward) continue;
    order.back().part = BackwardPart::inputs;
    if (pass.micro_batch >= device) parameters(pass.micro_batch - device);
  }
  for (std::int64_t m = std::max<std::int64_t>(0, micro_batches - device); m < micro_batches; ++m) parameters(m);
  return order;
}

}  // namespace

std::vector<Pass> pass_order(const ParallelSpec& spec, int device, int replica) {
  if (spec.chunks > 1 && spec.schedule != PipelineSchedule::one_f_one_b)
    throw RunError(fmt::format("{} chunks per device: only 1F1B interleaves", spec.chunks));
  if (spec.chunks > 1 && spec.micro_batches % spec.pp != 0)
    throw RunError(fmt::format("interleaved stages need micro-batches that are a multiple of pp {}, there are {}",
                               spec.pp, spec.micro_batches));
  if (!spec.stage_replicas.empty()) return replica_order(spec, device, replica);
  switch (spec.schedule) {
    case PipelineSchedule::gpipe:
      return gpipe_order(spec.micro_batches);
    case PipelineSchedule::zero_bubble:
      return zero_bubble_order(device, spec.pp, spec.micro_batches);
    case PipelineSchedule::one_f_one_b:
      break;
  }
  return one_f_one_b_order(device, spec.pp, spec.chunks, spec.micro_batches);
}

std::vector<int> stage_of_layers(int layers, int stages, const std::vector<int>& given) {
  if (stages < 1) throw RunError(fmt::format("pp is {}, expected 1 or more", stages));
  if (given.empty() && layers < stages)
    throw RunError(fmt::format("{} layers are fewer than the {} stages of pp", layers, stages));
  std::vector<int> counts = given;
  if (counts.empty()) {
    counts.assign(static_cast<std::size_t>(stages), layers / stages);
    for (int s = 0; s < layers % stages; ++s) ++counts[static_cast<std::size_t>(s)];
  }
  const auto wrong = [&](const int& count) {
    const bool end = stages > 1 && (&count == &counts.front() || &count == &counts.back());
    return count < (end ? 0 : 1);
  };
  if (static_cast<int>(counts.size()) != stages || std::ranges::any_of(counts, wrong) ||
      std::reduce(counts.begin(), counts.end()) != layers) {
    throw RunError(fmt::format("stage_layers [{}] are no {} counts that add up to {} layers", fmt::join(counts, ", "),
                               stages, layers));
  }
  std::vector<int> stage_of;
  for (int s = 0; s < stages; ++s)
    stage_of.insert(stage_of.end(), static_cast<std::size_t>(counts[static_cast<std::size_t>(s)]), s);
  return stage_of;
}

StageMap assign_stages(const Graph& graph, int stages, const std::vector<int>& given) {
  StageMap map;
  if (stages == 1) {
    map.of_operator.assign(graph.operators.size(), 0);
    map.of_parameter.assign(graph.parameters.size(), 0);
    return map;
  }
  if (!(graph.hidden_states > Bytes(0)))
    throw RunError(fmt::format("{}: pipelines of encoder-decoder models are not modelled", graph.model));
  const std::vector<int> stage_of_layer = stage_of_layers(layer_count(graph), stages, given);
  const Position begin(stage_of_layer, stages);
  Position forward = begin, backward = begin, optimizer = begin, parameter = begin;
  for (const Operator& op : graph.operators) {
    Position& at = op.phase == Phase::forward ? forward : op.phase == Phase::optimizer ? optimizer : backward;
    map.of_operator.push_back(at.stage(op.layer, &at == &backward));
  }
  for (const Parameter& p : graph.parameters) map.of_parameter.push_back(parameter.stage(p.layer, false));
  return map;
}

}  // namespace tessera
