// A scheduling problem with what is known so far about every operator's choice and order; internal to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "sim/place/schedule/schedule.hpp"

namespace tessera {

/// Sums of the same latencies in another order differ by this much; what is closer counts as equal.
inline constexpr double kRounding = 1e-12;

struct CoreTask {
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

  /// Of some operators, ascending. Widths stay those in the whole.
  Instance(const Instance& whole, const std::vector<std::size_t>& part);

  [[nodiscard]] std::size_t size() const { return tasks.size(); }
  [[nodiscard]] bool precedes(std::size_t i, std::size_t j) const { return order[i * size() + j]; }
  /// Adds i before j and what follows from it; false if j precedes i.
  bool add_precedence(std::size_t i, std::size_t j);
  /// i and j can never run at the same time.
  [[nodiscard]] bool disjunctive(std::size_t i, std::size_t j) const;

  std::vector<CoreTask> tasks;           // numbered as in the OperatorOrder
  std::vector<std::vector<int>> before;  // direct predecessors, and some that follow from them
  std::vector<std::vector<int>> after;
  std::vector<int> width, tensor_width, vector_width;  // as in the OperatorOrder, but never more than there are cores
  Cores cores;                                         // never more than there are operators
  int pairs = 0;

 private:
  std::vector<char> order;
};

/// Operators in groups, each of which precedes the next entirely: schedules of the groups add up.
std::vector<std::vector<std::size_t>> consecutive_blocks(const Instance& instance);

/// Operators' earliest starts, and the time that must follow their ends.
struct Windows {
  std::vector<Seconds> head, tail;
  ScheduleBound bound;
};

/// A topological order that respects added precedences.
std::vector<std::size_t> sequence_of(const Instance& instance);

/// Heads, tails and the bound, by critical paths and energies.
Windows windows_of(const Instance& instance);

/// Fixes choices and orders that every schedule shorter than `incumbent` must have, until nothing follows any more.
/// `windows` becomes those of such schedules; false: there is none.
bool restrict_to_better(Instance& instance, Seconds incumbent, Windows& windows);
/// The same, and every choice is tried for its bound; dearer.
bool probe_choices(Instance& instance, Seconds incumbent, Windows& windows);
/// The longest makespan found, by bisection up to `incumbent`, below which probe_choices leaves no schedule: a lower
/// bound.
Seconds refuted_makespan(const Instance& instance, const Windows& windows, Seconds incumbent);

/// What an operator asks of the chip while it runs, measured in several ways, each as a share of the time that passes:
/// operators that run together never add up to more than 1 in any of them. [0]: w operators at most run at the same
/// time, each counts 1/w. [1..7]: a share `kTensorWeights` of the tensor cores' time and the rest of the vector cores'.
/// [8], [9]: the shared ports.
inline constexpr std::array kTensorWeights{1.0, 31.0 / 32, 7.0 / 8, 1.0 / 2, 1.0 / 8, 1.0 / 32, 0.0};
struct Energy {
  std::array<Seconds, kTensorWeights.size() + 3> of{};
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
struct CorePlacement {
  std::vector<PlacedOperator> tasks;
  Seconds makespan;
};

/// The bound of windows_of and its rule.
ScheduleBound bound_of(const Instance& instance);

/// Renumbered as the graph; operators without cores start and end when what they wait for has ended.
Schedule schedule_of(const ScheduleProblem& problem, const CorePlacement& placement, const ScheduleBound& bound);

/// What a placement comes to on a chip whose ports are shared.
using Retime = std::function<CorePlacement(const CorePlacement&)>;

/// The best list schedule found over choices, after `retime` if there is one; stops at one that meets `bound`.
CorePlacement best_list_schedule(const Instance& instance, Seconds bound, const Retime& retime = {});

struct SearchResult {
  bool complete = false;  // nothing is better than the incumbent now
  std::int64_t nodes = 0;
};
/// Depth-first branch and bound below `incumbent`, which it improves.
SearchResult search_better(const Instance& instance, const Windows& windows, std::int64_t nodes,
                           CorePlacement& incumbent);
/// Beam search of this width below `incumbent`, which it improves.
SearchResult beam_search(const Instance& instance, const Windows& windows, std::size_t width, CorePlacement& incumbent);

}  // namespace tessera
