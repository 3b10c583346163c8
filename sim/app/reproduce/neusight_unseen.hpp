// What of NeuSight's experiments the data at hand does not hold.
#pragma once

#include <string>

#include "sim/app/reproduce/neusight_experiments.hpp"

namespace tessera {

/// The paper's figures with the rows behind them that were found, files and data sheets that are missing, and how the
/// rebuilt models were fitted.
std::string unseen_section(const Comparison& models, const NeuSightData& data, const Contenders& all);

}  // namespace tessera
