// The recorded layers of Llama2-7B on nine chips: latencies per operator, the best makespan found and a certified
// bound.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/place/schedule/problem.hpp"

namespace tessera {

struct RecordedLayer {
  std::string name;
  OperatorOrder order;
  std::vector<OperatorLatency> latency;
  Cores cores;
  Seconds makespan, bound;

  [[nodiscard]] ScheduleProblem problem() const { return {order, latency, cores}; }
};

/// `folder` holds graph_mbsM.json and latency_mbsM.json for M = 1, 2, 4, 8; forward and backward of every layer.
std::vector<RecordedLayer> recorded_layers(const std::filesystem::path& folder);

}  // namespace tessera
