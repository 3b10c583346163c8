#include "sim/place/pipeline/baselines.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera {
namespace {

/// Stages of equally many layers, the first ones one more where it does not divide.
PipelinePlan equal_stages(const PipelineProblem& problem, int stages, int width) {
  PipelinePlan plan;
  const int each = problem.layers() / stages, more = problem.layers() % stages;
  int first = 0;
  for (int s = 0; s < stages; ++s) {
    PipelineStage stage{.width = width, .recompute = problem.recomputation && s + 1 < stages};
    stage.layers.resize(static_cast<std::size_t>(each + (s < more ? 1 : 0)));
    std::iota(stage.layers.begin(), stage.layers.end(), first);
    first += static_cast<int>(stage.layers.size());
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

PlanOutcome with_time(const PipelineProblem& problem, PipelinePlan plan, const PlacementRules& rules) {
  const std::int64_t most = problem.devices() / std::max(1, plan.devices(problem));
  plan.replicas = static_cast<int>(std::clamp<std::int64_t>(most, 1, problem.micro_batches));
  const auto figures = evaluate(problem, plan, rules);
  if (const auto* none = std::get_if<NoPlan>(&figures)) return *none;
  plan.time = std::get<PlanFigures>(figures).time;
  return plan;
}

}  // namespace

PlanOutcome data_parallel_plan(const PipelineProblem& problem, const PlacementRules& rules) {
  if (std::string error = problem_error(problem); !error.empty()) return NoPlan{std::move(error)};
  return with_time(problem, equal_stages(problem, 1, problem.widths.front().width), rules);
}

PlanOutcome megatron_plan(const PipelineProblem& problem, const PlacementRules& rules) {
  if (std::string error = problem_error(problem); !error.empty()) return NoPlan{std::move(error)};
  const int node = problem.network.front().devices;
  int widest = problem.widths.front().width;
  PlanOutcome last = NoPlan{};
  for (const WidthProfile& profile : problem.widths) {
    if (profile.width > node && profile.width > problem.widths.front().width) break;
    widest = profile.width;
    last = with_time(problem, equal_stages(problem, 1, widest), rules);
    if (std::holds_alternative<PipelinePlan>(last)) return last;
  }
  for (int stages = 2; stages <= std::min(problem.layers(), problem.devices() / widest); ++stages) {
    last = with_time(problem, equal_stages(problem, stages, widest), rules);
    if (std::holds_alternative<PipelinePlan>(last)) return last;
  }
  return last;
}

}  // namespace tessera
