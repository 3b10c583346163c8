// Schedules of one layer's operators on one chip, with the bound that certifies them.
//
// The rules are those of Phaze's integer programme (Wang et al., ICML 2024): no preemption; an operator runs on one
// core of its class, or on all cores of the chip, alone; a fused operator holds a tensor and a vector core of the same
// index.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/place/schedule/problem.hpp"

namespace tessera {

/// What proves a lower bound.
/// critical_path: the longest chain, every operator at its faster choice.
/// energy: work that starts after a head and ends before a tail, spread over the cores that the order lets it use.
/// forcing: as energy, after fixing the choices that any better schedule would have to make.
/// search: every schedule that could be better was enumerated or excluded by a bound.
/// integer_programme: what a solver proved, within its tolerance of 1e-6.
enum class BoundRule : std::uint8_t { critical_path, energy, forcing, search, integer_programme };
constexpr std::array<std::string_view, 5> enum_names(BoundRule) {
  return {"critical path", "energy", "forcing", "search", "integer programme"};
}

struct ScheduleBound {
  Seconds makespan;
  BoundRule rule = BoundRule::critical_path;
};

struct PlacedOperator {
  Seconds start{}, end{};
  bool all_cores = false;
  int tensor_core = -1, vector_core = -1;  // -1: none, or all
};

struct Schedule {
  std::vector<PlacedOperator> operators{};  // indexed as the graph's
  Seconds makespan{};
  ScheduleBound bound{};
  bool limit_reached = false;  // the search was stopped before it could prove or improve
  std::int64_t nodes = 0;      // of the search

  /// (makespan - bound) / makespan; 0 within rounding: proven optimal.
  [[nodiscard]] double gap() const;
  [[nodiscard]] bool optimal() const { return gap() == 0.0; }
};

struct ScheduleLimits {
  std::int64_t nodes =
      1'000'000;  // of the search; nodes and not seconds, so that the answer never depends on the machine
};

/// A lower bound on every schedule's makespan; microseconds of work.
ScheduleBound schedule_bound(const ScheduleProblem& problem);

/// The best of a few dozen list schedules, with schedule_bound sharpened by it. No search.
Schedule list_schedule(const ScheduleProblem& problem);

/// list_schedule, and a branch and bound that closes what is left or reaches the limit.
Schedule optimal_schedule(const ScheduleProblem& problem, const ScheduleLimits& limits = {});

enum class Durations : std::uint8_t { exact, at_least };  // at_least: operators that share bandwidth may take longer

/// Checks a schedule against the rules, independently of how it was made: every violation in one sentence.
std::vector<std::string> schedule_violations(const ScheduleProblem& problem, const Schedule& schedule,
                                             Durations durations = Durations::exact);

}  // namespace tessera
