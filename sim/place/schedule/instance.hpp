// A scheduling problem with what is known so far about every operator's choice and order; internal to this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/place/schedule/schedule.hpp"

namespace tessera {

/// Sums of the same latencies in another order differ by this much; what is closer counts as equal.
inline constexpr double kRounding = 1e-12;

struct Task {
  CoreClass core = CoreClass::none;
  Seconds one_core, all_cores;
  Seconds hbm, buffer;                  // of the shared ports, if they are shared
  bool may_one = true, may_all = true;  // choices that a better schedule could make

  [[nodiscard]] Seconds shortest() const {
    if (!may_all) return one_core;
    return may_one ? min(one_core, all_cores) : all_cores;
  }
};

struct Instance {
  explicit Instance(const ScheduleProblem& problem);

  [[nodiscard]] std::size_t size() const { return tasks.size(); }
  [[nodiscard]] bool precedes(std::size_t i, std::size_t j) const { return order[i * size() + j]; }
  /// Adds i before j and what follows from it; false if j precedes i.
  bool add_precedence(std::size_t i, std::size_t j);
  /// i and j can never run at the same time.
  [[nodiscard]] bool disjunctive(std::size_t i, std::size_t j) const;

  std::vector<Task> tasks;               // numbered as in the OperatorOrder
  std::vector<std::vector<int>> before;  // direct predecessors, and some that follow from them
  std::vector<std::vector<int>> after;
  std::vector<int> width, tensor_width, vector_width;  // as in the OperatorOrder, but never more than there are cores
  Cores cores;                                         // never more than there are operators
  int pairs = 0;

 private:
  std::vector<char> order;
};

/// Operators' earliest starts, and the time that must follow their ends.
struct Windows {
  std::vector<Seconds> head, tail;
  ScheduleBound bound;
};

/// Heads, tails and the bound, by critical paths and energies.
Windows windows_of(const Instance& instance);

/// Fixes choices and orders that every schedule shorter than `incumbent` must have, until nothing follows any more.
/// `windows` becomes those of such schedules; false: there is none.
bool restrict_to_better(Instance& instance, Seconds incumbent, Windows& windows);

/// What one operator asks of the chip while it runs, as a share of the time of: the whole chip, its tensor cores, its
/// vector cores, its shared ports. Operators that run together never add up to more than 1 of each.
struct Energy {
  Seconds chip, tensor, vector, hbm{}, buffer{};
};
Energy energy_of(const Instance& instance, std::size_t i);
/// The same for what is left of an operator that runs, `all_cores` or not.
Energy energy_of_rest(const Instance& instance, std::size_t i, bool all_cores, Seconds rest);

/// An operator between its head and its tail.
struct EnergyItem {
  Seconds head, tail;
  Energy energy;
};
/// max over thresholds a, b of a + (energy of items with head >= a and tail >= b) + b. Items in descending order of
/// heads.
Seconds energy_bound(const std::vector<EnergyItem>& items);

/// One choice per operator: true for all cores.
using Choices = std::vector<bool>;

/// A complete placement, numbered as in the instance.
struct Placement {
  std::vector<PlacedOperator> tasks;
  Seconds makespan;
};

/// The bound of windows_of and its rule.
ScheduleBound bound_of(const Instance& instance);

/// Renumbered as the graph; operators without cores start and end when what they wait for has ended.
Schedule schedule_of(const ScheduleProblem& problem, const Placement& placement, const ScheduleBound& bound);

/// What a placement comes to on a chip whose ports are shared.
using Retime = std::function<Placement(const Placement&)>;

/// The best list schedule found over choices, after `retime` if there is one; stops at one that meets `bound`.
Placement best_list_schedule(const Instance& instance, Seconds bound, const Retime& retime = {});

/// Branch and bound below `incumbent`.
struct SearchResult {
  bool complete = false;
  std::int64_t nodes = 0;
};
SearchResult search_better(const Instance& instance, const Windows& windows, const ScheduleLimits& limits,
                           Placement& incumbent);

}  // namespace tessera
