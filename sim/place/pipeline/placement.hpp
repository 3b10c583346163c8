// A pipeline plan: which layers run where, and what that gives; or why there is none.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/place/pipeline/problem.hpp"
#include "sim/place/pipeline/rules.hpp"

namespace tessera {

/// Which neighbours have consecutive numbers: the replicas of a stage (Megatron-LM's tp-dp-pp order), or the stages of
/// a replica (tp-pp-dp).
enum class DeviceOrder : std::uint8_t { replicas_adjacent, stages_adjacent };

struct PipelineStage {
  std::vector<int> layers{};  // ascending; none: it only passes micro-batches on
  int width = 1;              // tensor parallelism asked of its layers
  int replicas = 1;           // inside one replica of the pipeline: they take micro-batches in turn
  int pool = 0;               // of PipelineProblem::pools
  bool recompute = false;
};

struct PipelinePlan {
  std::vector<PipelineStage> stages{};  // in pipeline order
  int replicas = 1;                     // of the whole pipeline (data parallelism)
  int chunks = 1;                       // stages per device in turn (interleaved 1F1B); 1: plain 1F1B
  DeviceOrder order = DeviceOrder::replicas_adjacent;
  Seconds time{};      // of one global batch
  bool exact = false;  // proven best of what was searched

  /// Devices of all replicas.
  [[nodiscard]] int devices(const PipelineProblem& problem) const;
};

/// No plan. `short_of`: the memory per device that the least demanding plan misses; 0: not for memory.
struct NoPlan {
  std::string why;
  Bytes short_of{};
};
using PlanOutcome = std::variant<PipelinePlan, NoPlan>;

/// One stage as its plan runs it.
struct StageFigures {
  Seconds load;       // of one micro-batch: compute and the transfers that it waits for
  Seconds sync;       // gradient sum over its replicas
  Bytes memory;       // of one device
  int in_flight = 1;  // micro-batches kept at once
};
struct PlanFigures {
  Seconds time;  // of one global batch
  std::vector<StageFigures> stages;
};

/// The time of any plan under the rules, its `time` ignored; NoPlan if it does not fit. A plan that is none (a layer
/// twice or missing, a stage against the edges' direction, more devices than there are) is NoPlan, too.
std::variant<PlanFigures, NoPlan> evaluate(const PipelineProblem& problem, const PipelinePlan& plan,
                                           const PlacementRules& rules = {});

/// The original's dynamic programme, exact under PlacementRules::phaze(): one width and one recomputation for all
/// stages, contiguous stages, whole replicas. The layers must be a chain (skip edges allowed). The device dimension of
/// the original's table is implied by the number of stages: O(layers^2 x stages).
PlanOutcome solve_phaze(const PipelineProblem& problem);

/// A plan as experts write it down: equal stages.
struct ExpertPlan {
  int stages = 1, width = 1, replicas = 1;
  int blocks = 1;  // transformer layers; what precedes them (embedding) belongs to the first stage
};
/// `shifted`: as the original numbers layers, where the first is taken for a block and the last stage gets one more.
/// The plan's time is under `rules`.
PlanOutcome expert_plan(const PipelineProblem& problem, const ExpertPlan& expert, bool shifted,
                        const PlacementRules& rules = {});

/// What the search may choose beyond the original.
struct PlannerOptions {
  PlacementRules rules{};
  bool stage_widths = true;     // a tensor width for each stage
  bool stage_replicas = true;   // several replicas of a stage inside a pipeline
  bool stage_recompute = true;  // recomputation for each stage; off: all but the last, where the problem has it
  bool interleaving = true;
  bool device_orders = true;  // both orders; off: replicas_adjacent
  bool equal_shares = false;  // replicas of the pipeline divide the micro-batches
  int most_stages = 0;        // 0: no limit
  Seconds cutoff{};  // slower plans are of no interest: there may be none, or one that is not the best; 0: none
};
/// The best plan of the corrected search; never worse than the plans of `solve_phaze` under the same rules.
PlanOutcome plan_pipeline(const PipelineProblem& problem, const PlannerOptions& options = {});

}  // namespace tessera
