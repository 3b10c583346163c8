// Collective measurements: a row to a group of GPUs, and its time alone on the network.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/collectives/parameters.hpp"
#include "sim/app/validation/catalogue.hpp"
#include "sim/app/validation/outcome.hpp"
#include "sim/app/validation/row_reader.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

/// By the closed form, with which the event loop agrees where nothing else is on the links. `n_nodes` counts what the
/// operating system sees: several hosts can be one node of a platform (racks of one NVLink domain).
std::vector<Outcome> predict_collective_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                             const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                             const CollectiveParameters& parameters, Mistakes& mistakes);

}  // namespace tessera
