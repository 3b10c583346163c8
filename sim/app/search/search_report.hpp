// What a search found: a table, JSON, a picture of the Pareto front, and files to go on with.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/search/search_scenario.hpp"
#include "sim/config/json.hpp"
#include "sim/place/search/certified_search.hpp"
#include "sim/place/search/chip_study.hpp"
#include "sim/place/search/pareto.hpp"

namespace tessera {

struct SearchFindings {
  Certificate certificate;
  std::vector<StudiedChip> best;        // of the chips solved, placed again with every kind of plan, best first
  StudiedChip reference;                // the TPUv4-like chip under the same judgement
  std::optional<StudiedChip> expert{};  // the same with the expert's plan
  std::vector<StudiedChip> front;       // cheapest first; empty: not asked for
  bool front_complete = true;
};

std::string search_table(const SearchScenario& scenario, const SearchFindings& findings);
Json search_json(const SearchScenario& scenario, const SearchFindings& findings);
std::string search_picture(const SearchScenario& scenario, const SearchFindings& findings);

/// Files that `tessera` reads again: the best chip and its plan as a search for placements, and as a platform and a run
/// for `simulate` where its plan has equal stages (simulate's GPUs are priced by its own latency models: choose
/// `roofline`).
std::vector<std::pair<std::string, std::string>> search_files(const SearchFile& file, const SearchFindings& findings);

/// "6 stages x 164 replicas, tp 1, 5 recompute".
std::string plan_text(const PipelinePlan& plan);

}  // namespace tessera
