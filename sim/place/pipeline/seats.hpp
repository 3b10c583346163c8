// Where a plan's stages sit and how long its schedule takes: the part that evaluation and search share.
#pragma once

#include <cstdint>

#include "sim/place/pipeline/placement.hpp"
#include "sim/place/pipeline/segment.hpp"

namespace tessera {

/// Devices of `pool` that the plan takes, all replicas.
std::int64_t devices_in(const PipelinePlan& plan, const PipelineProblem& problem, int pool);

/// Neighbouring stages are taken to be as wide as this one. replicas_adjacent: a stage's replicas fill consecutive
/// devices. stages_adjacent: a replica of the pipeline does, an equal part of all devices.
Seating seat(const Segment& segment, const PipelineStage& stage, int replicas, DeviceOrder order,
             const PipelineProblem& problem);

/// Micro-batches that one replica of a stage gets.
std::int64_t rounds_of(const PipelineProblem& problem, int replicas, int stage_replicas);

/// Micro-batches that a stage replica keeps under 1F1B with `after` stage replicas from it to the end of the pipeline
/// (PipeDream, arXiv 1806.03377, section 3.2), no more than it gets.
int in_flight(int after, int stage_replicas, std::int64_t rounds, const PlacementRules& rules);

/// Time of 1F1B without the gradient sums: the first micro-batch passes all stages, the slowest stage does the rest.
/// Exact for equal stages; for others the schedule itself (`one_f_one_b`) takes at most this long, where a stage's
/// forward and backward are in one proportion.
struct PipelineTime {
  Seconds first, rest, slowest;

  void add(Seconds load, std::int64_t rounds) {
    first += load;
    rest = max(rest, load * static_cast<double>(rounds - 1));
    slowest = max(slowest, load);
  }
  [[nodiscard]] Seconds total(const PlacementRules& rules, int stages) const {
    return rest + (rules.slowest_stage_fill ? slowest * static_cast<double>(stages) : first);
  }
};

}  // namespace tessera
