#include "sim/place/pipeline/seats.hpp"

#include <algorithm>

namespace tessera {
namespace {

int stage_devices(const PipelineProblem& problem, const PipelineStage& stage) {
  for (const WidthProfile& profile : problem.widths) {
    if (profile.width != stage.width) continue;
    const auto wide = [&](int layer) { return profile.layers[static_cast<std::size_t>(layer)].tensor_parallel; };
    return std::ranges::any_of(stage.layers, wide) ? stage.width : 1;
  }
  return stage.width;
}

}  // namespace

int PipelinePlan::devices(const PipelineProblem& problem) const {
  std::int64_t sum = 0;
  for (int pool = 0; pool < static_cast<int>(problem.pools.size()); ++pool) sum += devices_in(*this, problem, pool);
  return static_cast<int>(sum);
}

std::int64_t devices_in(const PipelinePlan& plan, const PipelineProblem& problem, int pool) {
  const auto seats = plan.stages.size() / static_cast<std::size_t>(plan.chunks);
  std::int64_t each = 0;
  for (std::size_t j = 0; j < seats; ++j) {
    if (plan.stages[j].pool != pool) continue;
    int devices = 0;
    for (std::size_t s = j; s < plan.stages.size(); s += seats)
      devices = std::max(devices, stage_devices(problem, plan.stages[s]));
    each += std::int64_t{devices} * plan.stages[j].replicas;
  }
  return each * plan.replicas;
}

Seating seat(const Segment& segment, const PipelineStage& stage, int replicas, DeviceOrder order,
             const PipelineProblem& problem) {
  const int devices = segment.tensor_parallel ? stage.width : 1;
  const std::int64_t stage_span = std::int64_t{devices} * stage.replicas, all = problem.devices();
  const bool adjacent = order == DeviceOrder::replicas_adjacent;
  const std::int64_t between_stages = adjacent ? 2 * stage_span * replicas : std::max(2 * stage_span, all / replicas);
  const std::int64_t between_replicas = adjacent ? stage_span * replicas : replicas > 1 ? all : stage_span;
  return {.devices = devices,
          .sync_replicas = std::int64_t{stage.replicas} * replicas,
          .transfers = problem.level_of(between_stages),
          .sums = problem.level_of(between_replicas),
          .speed_ratio = problem.pools[static_cast<std::size_t>(stage.pool)].speed_ratio};
}

std::int64_t rounds_of(const PipelineProblem& problem, int replicas, int stage_replicas) {
  const std::int64_t share = std::int64_t{replicas} * stage_replicas;
  return (problem.micro_batches + share - 1) / share;
}

int in_flight(int after, int stage_replicas, std::int64_t rounds, const PlacementRules& rules) {
  const int warm = (after + stage_replicas - 1) / stage_replicas;
  return rules.endless_micro_batches ? warm : static_cast<int>(std::min<std::int64_t>(warm, rounds));
}

}  // namespace tessera
