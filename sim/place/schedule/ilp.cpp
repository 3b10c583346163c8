#include "sim/place/schedule/ilp.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/place/schedule/ilp_model.hpp"

namespace tessera {

namespace {

constexpr double kSolverTolerance = 1e-6;

const LinearSolver* find(std::span<const LinearSolver> installed, std::string_view name) {
  const auto found =
      std::find_if(installed.begin(), installed.end(), [&](const LinearSolver& s) { return s.name == name; });
  return found == installed.end() ? nullptr : &*found;
}

CorePlacement to_placement(const ScheduleProblem& problem, const Schedule& schedule) {
  CorePlacement placement{.tasks = {}, .makespan = schedule.makespan};
  for (int i = 0; i < problem.order.size(); ++i) {
    placement.tasks.push_back(schedule.operators[static_cast<std::size_t>(problem.order.operator_of(i))]);
  }
  return placement;
}

Schedule solve_with(const LinearSolver& solver, const ScheduleProblem& problem, Seconds limit) {
  Schedule known = list_schedule(problem);
  known.bound = schedule_bound(problem);
  if (known.makespan == Seconds()) return known;
  const Instance instance(problem);
  const IlpModel model(instance, known.makespan);
  const std::vector<double> start = model.point_of(to_placement(problem, known));
  const std::optional<LinearSolution> solution = solve_within(solver, model.program(), start, limit);
  known.limit_reached = !solution || !solution->optimal;
  if (!solution) return known;
  Schedule result = known;
  if (!solution->values.empty()) {
    const CorePlacement found = model.placement_of(solution->values);
    if (found.makespan < known.makespan) result = schedule_of(problem, found, known.bound);
  }
  result.limit_reached = !solution->optimal;
  const Seconds proven = known.makespan * (solution->bound * (1.0 - kSolverTolerance));
  if (solution->optimal && proven >= result.makespan * (1.0 - 3.0 * kSolverTolerance)) {
    result.bound = {.makespan = result.makespan, .rule = BoundRule::integer_programme};
  } else if (proven > result.bound.makespan) {
    result.bound = {.makespan = min(proven, result.makespan), .rule = BoundRule::integer_programme};
  }
  return result;
}

}  // namespace

IlpSchedule ilp_schedule(const ScheduleProblem& problem, const IlpOptions& options,
                         std::span<const LinearSolver> installed) {
  const std::string_view asked = enum_names(IlpSolver())[static_cast<std::size_t>(options.solver)];
  IlpSchedule result;
  const LinearSolver* solver = find(installed, asked);
  if (solver == nullptr && !installed.empty()) solver = &installed.front();
  result.solved_by = solver == nullptr ? "search" : std::string(solver->name);
  if (result.solved_by != asked) {
    result.note = fmt::format("{} is not built into this program; {} was used instead", asked, result.solved_by);
  }
  result.schedule = solver == nullptr ? optimal_schedule(problem) : solve_with(*solver, problem, options.limit);
  return result;
}

}  // namespace tessera
