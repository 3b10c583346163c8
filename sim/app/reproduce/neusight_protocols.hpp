// Our model fitted as NeuSight is, and fitted without the GPU that it predicts.
#pragma once

#include <vector>

#include "sim/app/reproduce/neusight_experiments.hpp"

namespace tessera {

/// "Tessera, N": the families of fp32 models fitted on NeuSight's five training GPUs alone. "Tessera, L": each GPU by
/// weights fitted without it and its family mates. Both refuse AMD's GPUs with RunError: N has no matrix units to fit.
std::vector<Contender> protocol_contenders(const ReproduceOptions& options);

}  // namespace tessera
