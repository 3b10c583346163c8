// Fits the few physical numbers of a closed form before any net sees the data.
#pragma once

#include "calibration/fit.hpp"

namespace tessera {

/// Coordinate descent on the logs of `weights.constants`: mean |log(measured / closed form)|, each GPU, session and
/// operator counting alike, plus a pull towards the starting values that keeps what the data does not determine.
/// Uses at most kConstantRows samples per group. Deterministic.
void fit_constants(const Recipe& recipe, const Dataset& data, FamilyWeights& weights);

}  // namespace tessera
