// Reads a placement problem in the JSON format of the original's device placement program.
#pragma once

#include <filesystem>
#include <vector>

#include "sim/place/pipeline/placement.hpp"

namespace tessera {

struct PhazeProblem {
  PipelineProblem problem;  // layers in topological order
  std::vector<int> ids;     // of the layers, in that order
  ExpertPlan expert;        // the plan that the file compares with
};

/// maxMemoryPerDevice, maxDevices, bandwidth, mbsInBatch, activationRecomputation, optimizerAlgorithm, and per tensor
/// width nodes (id, parameterSize, activationSize, optimalLatencyFw, optimalLatencyBw, isTensorParallelized) and edges
/// (sourceId, destId, communicationCost); bytes, seconds, bytes per second. InputError for what is no such file.
PhazeProblem read_phaze_problem(const std::filesystem::path& path);

}  // namespace tessera
