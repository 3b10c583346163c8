#include "sim/place/schedule/schedule.hpp"

#include <algorithm>

#include "sim/place/schedule/instance.hpp"

namespace tessera {

namespace {

/// Sharpens the bound with what a better schedule would have to do; true: there is none.
bool sharpen(Instance& instance, Windows& windows, const CorePlacement& incumbent, ScheduleBound& bound) {
  const bool better_possible = restrict_to_better(instance, incumbent.makespan, windows);
  const Seconds sharper = better_possible ? windows.bound.makespan : incumbent.makespan;
  if (sharper > bound.makespan * (1.0 + kRounding)) bound = {.makespan = sharper, .rule = BoundRule::forcing};
  return !better_possible;
}

struct Solved {
  CorePlacement placement;
  ScheduleBound bound{};
  bool limit_reached = false;
  std::int64_t nodes = 0;
};

constexpr std::int64_t kBeamShare = 3;      // of the nodes, the beam's part
constexpr std::int64_t kMovesOfAState = 8;  // about

/// `nodes` <= 0: no search.
Solved solve(const Instance& instance, std::int64_t nodes) {
  Solved solved{.placement = {}, .bound = bound_of(instance)};
  solved.placement = best_list_schedule(instance, solved.bound.makespan);
  if (solved.bound.makespan >= solved.placement.makespan * (1.0 - kRounding)) return solved;
  Windows windows = windows_of(instance);
  Instance better = instance;
  if (sharpen(better, windows, solved.placement, solved.bound)) return solved;
  solved.limit_reached = true;
  if (nodes <= 0) return solved;
  const auto proven = [&](const SearchResult& result) {
    solved.nodes += result.nodes;
    solved.limit_reached = !result.complete;
    if (result.complete) solved.bound = {.makespan = solved.placement.makespan, .rule = BoundRule::search};
    return result.complete;
  };
  const Seconds refuted = refuted_makespan(better, windows, solved.placement.makespan);
  if (refuted > solved.bound.makespan * (1.0 + kRounding)) {
    solved.bound = {.makespan = refuted, .rule = BoundRule::forcing};
  }
  if (!probe_choices(better, solved.placement.makespan, windows)) {
    solved.limit_reached = false;
    return solved;
  }
  const auto operators = static_cast<std::int64_t>(instance.size());
  const std::int64_t width = std::max<std::int64_t>(1, nodes / (kBeamShare * kMovesOfAState * operators));
  if (proven(beam_search(better, windows, static_cast<std::size_t>(width), solved.placement))) return solved;
  if (!probe_choices(better, solved.placement.makespan, windows)) {
    solved.bound = {.makespan = solved.placement.makespan, .rule = BoundRule::forcing};
    solved.limit_reached = false;
    return solved;
  }
  proven(search_better(better, windows, nodes - solved.nodes, solved.placement));
  return solved;
}

}  // namespace

Schedule schedule_of(const ScheduleProblem& problem, const CorePlacement& placement, const ScheduleBound& bound) {
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
  const Instance whole(problem);
  Solved all{.placement = {.tasks = std::vector<PlacedOperator>(whole.size()), .makespan = {}}};
  for (const std::vector<std::size_t>& block : consecutive_blocks(whole)) {
    const Solved solved = solve(Instance(whole, block), limits.nodes - all.nodes);
    const Seconds begin = all.placement.makespan;
    for (std::size_t i = 0; i < block.size(); ++i) {
      PlacedOperator& placed = all.placement.tasks[block[i]] = solved.placement.tasks[i];
      placed.start += begin;
      placed.end += begin;
    }
    all.placement.makespan += solved.placement.makespan;
    all.bound.makespan += solved.bound.makespan;
    all.bound.rule = std::max(all.bound.rule, solved.bound.rule);
    all.limit_reached = all.limit_reached || solved.limit_reached;
    all.nodes += solved.nodes;
  }
  Schedule schedule = schedule_of(problem, all.placement, all.bound);
  schedule.limit_reached = all.limit_reached;
  schedule.nodes = all.nodes;
  return schedule;
}

}  // namespace tessera
