// What a search found: a table, JSON, a picture of the Pareto front, and files to go on with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/app/search/replay.hpp"
#include "sim/app/search/search_scenario.hpp"
#include "sim/config/json.hpp"
#include "sim/place/search/certified_search.hpp"
#include "sim/place/search/chip_study.hpp"
#include "sim/place/search/pareto.hpp"

namespace tessera {

/// A chip of the best ones after its plans ran in the event loop.
struct ReplayedChip {
  StudiedChip chip;                            // held to plans that run there
  std::vector<std::vector<PlanReplay>> plans;  // of each workload, the fastest in simulation first: the chip's
  double score = 0;                            // with the simulated times; minus infinity: a plan did not run
  std::size_t rank = 0;                        // among the best by the analytical cost, from 1
};

struct SearchFindings {
  Certificate certificate;
  std::vector<StudiedChip> best;        // of the chips solved, placed again with every kind of plan, best first
  StudiedChip reference;                // the TPUv4-like chip under the same judgement
  std::optional<StudiedChip> expert{};  // the same with the expert's plan
  std::vector<StudiedChip> front;       // cheapest first; empty: not asked for
  bool front_complete = true;
  std::vector<SolvedPass> solved{};      // of the best chip; empty: not asked for
  std::vector<ReplayedChip> replayed{};  // best first; empty: not asked for
};

/// Places a chip in the `plans` best ways that the event loop runs, runs them and keeps the fastest.
ReplayedChip replayed_chip(const SearchScenario& scenario, const ChipStudy& study, const SystolicChip& chip,
                           std::size_t rank, std::size_t plans);

std::string search_table(const SearchScenario& scenario, const SearchFindings& findings);
Json search_json(const SearchScenario& scenario, const SearchFindings& findings);
std::string search_picture(const SearchScenario& scenario, const SearchFindings& findings);

/// "6 stages x 164 replicas, tp 1, 5 recompute".
std::string plan_text(const PipelinePlan& plan);

}  // namespace tessera
