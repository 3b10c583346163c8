#include <algorithm>
#include <numeric>

#include "sim/place/pipeline/placement.hpp"

namespace tessera {

PlanOutcome expert_plan(const PipelineProblem& problem, const ExpertPlan& expert, bool shifted,
                        const PlacementRules& rules) {
  if (expert.stages < 1 || expert.blocks < 1) return NoPlan{"an expert plan has stages and blocks"};
  PipelinePlan plan{.replicas = expert.replicas};
  const int each = (expert.blocks + expert.stages - 1) / expert.stages;
  const int before = shifted ? 0 : problem.layers() - expert.blocks;
  int first = 0;
  for (int s = 0; s < expert.stages; ++s) {
    const bool last = s + 1 == expert.stages;
    const int end = last ? problem.layers() : std::max(first, std::min((s + 1) * each, expert.blocks) + before);
    PipelineStage stage{.width = expert.width, .recompute = problem.recomputation && !last};
    stage.layers.resize(static_cast<std::size_t>(end - first));
    std::iota(stage.layers.begin(), stage.layers.end(), first);
    plan.stages.push_back(std::move(stage));
    first = end;
  }
  const auto figures = evaluate(problem, plan, rules);
  if (const auto* none = std::get_if<NoPlan>(&figures)) return *none;
  plan.time = std::get<PlanFigures>(figures).time;
  return plan;
}

}  // namespace tessera
