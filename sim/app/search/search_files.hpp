// What a search leaves behind to go on with.
#pragma once

#include <string>
#include <vector>

#include "sim/app/search/replay.hpp"
#include "sim/app/search/search_report.hpp"

namespace tessera {

struct NamedFile {
  std::string name, content;
};

/// search.json, search.svg, and placement.yaml: the best chip as a search for its placement.
std::vector<NamedFile> search_files(const SearchFile& file, const SearchFindings& findings);

/// best.yaml and what it names: a chip, its cluster and its plan of every workload as a scenario that `simulate` takes.
/// None where the event loop cannot run a plan (`replay_spec`).
std::vector<NamedFile> simulate_files(const SearchScenario& scenario, const ChipStudy& study,
                                      const StudiedChip& studied);

}  // namespace tessera
