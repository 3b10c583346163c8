// The files that a run's numbers depend on, for its manifest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/app/scenario.hpp"
#include "sim/config/json.hpp"

namespace tessera {

/// Path (from the project's folder, where it lies inside) and content hash of the scenario, the model's config, the
/// platform's files and the latency model's weights.
std::vector<std::pair<std::string, std::string>> input_hashes(const ScenarioFile& file, const RunSpec& spec);

/// The same of a run of tenants.
std::vector<std::pair<std::string, std::string>> input_hashes(const ScenarioFile& file, const RunSection& section);

/// A document as JSON: numbers and words of unquoted scalars keep their meaning.
Json as_json(const Node& node);

}  // namespace tessera
