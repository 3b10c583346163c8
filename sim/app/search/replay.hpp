// Plans of a search in the event loop: what the analytical cost says, what the simulation says, and where they differ.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sim/app/run.hpp"
#include "sim/app/search/search_scenario.hpp"
#include "sim/place/search/chip_study.hpp"

namespace tessera {

/// What a step consists of on the device that computes the most; `transfers`: what it waits for, gradient sums too.
struct StepParts {
  Seconds compute, transfers, idle;
  [[nodiscard]] Seconds step() const { return compute + transfers + idle; }
};

struct Replay {
  bool ran = false;
  std::string why;                          // it did not run
  StepParts expected{}, seen{};             // by the analytical cost, in the simulation
  Seconds optimizer{};                      // of `seen`: the optimizer's kernels, which the analytical cost leaves out
  double expected_rate = 0, seen_rate = 0;  // samples/s
  Bytes memory{};                           // of the fullest device, by the event loop's model of memory
  Watts power{};                            // of a device, mean over the step

  /// "12.3 % slower: idle +10.1 %, optimizer +2.2 %", parts of 0.5 % and more, the largest first.
  [[nodiscard]] std::string difference() const;
};

/// A chip and a plan of one of a scenario's workloads.
struct PlannedChip {
  const SearchScenario& scenario;
  const SearchWorkload& workload;
  const ChipWorkload& costs;  // of the workload at its micro-batch
  const SystolicChip& chip;
  const ChipResult& result;  // feasible
};

/// What `study` says of a chip for the scenario's workload `index`.
PlannedChip planned_chip(const SearchScenario& scenario, const ChipStudy& study, const StudiedChip& studied,
                         std::size_t index);

/// A plan of a workload that was simulated.
struct PlanReplay {
  std::size_t choice = 0, rank = 0;  // micro-batch; place by the analytical cost, from 1
  ChipResult result{};
  Replay replay{};
};
/// The `count` best plans of a chip by the analytical cost (`ChipWorkload::best_plans`, over all micro-batches), by
/// their simulated rates; those that did not run come last.
std::vector<PlanReplay> replay_plans(const SearchScenario& scenario, const ChipStudy& study, const SystolicChip& chip,
                                     std::size_t workload, std::size_t count);

/// The plan as a run, or why the event loop cannot run it: stages of different widths, a network of
/// three levels. Replicas that do not divide the batch all take as many micro-batches as the busiest.
std::variant<RunSpec, std::string> replay_spec(const PlannedChip& planned);

/// Simulates it in a process of its own.
Replay replay(const PlannedChip& planned);

}  // namespace tessera
