#include "sim/place/schedule/schedule.hpp"

#include <algorithm>

#include "sim/place/schedule/instance.hpp"

namespace tessera {

namespace {

/// Sharpens the bound with what a better schedule would have to do; true: there is none.
bool sharpen(Instance& instance, Windows& windows, const Placement& incumbent, ScheduleBound& bound) {
  const bool better_possible = restrict_to_better(instance, incumbent.makespan, windows);
  const Seconds sharper = better_possible ? windows.bound.makespan : incumbent.makespan;
  if (sharper > bound.makespan * (1.0 + kRounding)) bound = {.makespan = sharper, .rule = BoundRule::forcing};
  return !better_possible;
}

}  // namespace

Schedule schedule_of(const ScheduleProblem& problem, const Placement& placement, const ScheduleBound& bound) {
  const OperatorGraph& graph = problem.order.graph();
  Schedule schedule{.operators = std::vector<PlacedOperator>(graph.core.size()),
                    .makespan = placement.makespan,
                    .bound = {.makespan = min(bound.makespan, placement.makespan), .rule = bound.rule}};
  for (std::size_t i = 0; i < placement.tasks.size(); ++i) {
    schedule.operators[static_cast<std::size_t>(problem.order.operator_of(static_cast<int>(i)))] = placement.tasks[i];
  }
  std::vector<std::vector<int>> before(graph.core.size());
  for (const Precedence& edge : graph.edges) before[static_cast<std::size_t>(edge.after)].push_back(edge.before);
  for (const int op : problem.order.topological()) {
    const auto i = static_cast<std::size_t>(op);
    if (graph.core[i] != CoreClass::none) continue;
    PlacedOperator& placed = schedule.operators[i];
    for (const int p : before[i]) placed.start = max(placed.start, schedule.operators[static_cast<std::size_t>(p)].end);
    placed.end = placed.start;
  }
  return schedule;
}

double Schedule::gap() const {
  if (bound.makespan >= makespan * (1.0 - kRounding)) return 0.0;
  return (makespan - bound.makespan) / makespan;
}

ScheduleBound schedule_bound(const ScheduleProblem& problem) {
  return bound_of(Instance(problem));
}

Schedule list_schedule(const ScheduleProblem& problem) {
  return optimal_schedule(problem, {.nodes = 0});
}

Schedule optimal_schedule(const ScheduleProblem& problem, const ScheduleLimits& limits) {
  Instance instance(problem);
  Windows windows = windows_of(instance);
  ScheduleBound bound = bound_of(instance);
  Placement best = best_list_schedule(instance, bound.makespan);
  if (sharpen(instance, windows, best, bound) || limits.nodes == 0) return schedule_of(problem, best, bound);
  const SearchResult search = search_better(instance, windows, limits, best);
  if (search.complete) bound = {.makespan = best.makespan, .rule = BoundRule::search};
  Schedule schedule = schedule_of(problem, best, bound);
  schedule.limit_reached = !search.complete;
  schedule.nodes = search.nodes;
  return schedule;
}

}  // namespace tessera
