// A device placement problem: what every layer costs at each tensor width, and the devices that it may use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

/// One layer of one micro-batch on one device of a tensor-parallel group, collectives of the group included.
struct LayerCost {
  Seconds forward, backward;
  Bytes parameters;   // its slice
  Bytes activations;  // its slice, kept from forward to backward
  bool tensor_parallel = false;
};

/// What layer `from` hands to a later layer `to`. Edges of one `from` carry the same tensor.
struct LayerEdge {
  int from = 0, to = 0;
  Bytes bytes;
};

struct WidthProfile {
  int width = 1;  // devices of a stage whose layers are tensor-parallel
  std::vector<LayerCost> layers;
  std::vector<LayerEdge> edges;
};

/// Devices of one kind. `speed_ratio`: layers take the time of their profile over this.
struct DevicePool {
  std::string name;
  int devices = 1;
  Bytes memory;  // of one device
  double speed_ratio = 1;
};

/// Blocks of so many consecutive devices reach each other at this bandwidth (of one device, one direction).
struct NetworkLevel {
  int devices = 1;
  BytesPerSec bandwidth;
  Seconds latency;
};

enum class PipelineOptimizer : std::uint8_t { sgd, adam };

/// Layers are numbered in topological order, the same in every width: edges go from lower to higher numbers.
struct PipelineProblem {
  std::vector<WidthProfile> widths;   // ascending width
  std::vector<DevicePool> pools;      // one, where all devices are alike
  std::vector<NetworkLevel> network;  // innermost first; one level: a flat network
  std::int64_t micro_batches = 1;     // of the global batch
  PipelineOptimizer optimizer = PipelineOptimizer::sgd;
  Bytes parameter_element{2.0};  // 2: mixed precision with fp32 master weights, 4: fp32
  int zero_stage = 0;            // ZeRO: 1 optimizer state, 2 and gradients, 3 and weights over the replicas
  bool training = true;          // off: no gradients are summed or handed back, and only weights and inputs are kept
  bool recomputation = false;    // stages may recompute their forward instead of keeping activations

  [[nodiscard]] int layers() const { return static_cast<int>(widths.front().layers.size()); }
  [[nodiscard]] int devices() const;
  /// The innermost level that holds `span` consecutive devices; the outermost, if none does.
  [[nodiscard]] const NetworkLevel& level_of(std::int64_t span) const;
};

/// What is wrong with a problem, in words; empty: nothing.
std::string problem_error(const PipelineProblem& problem);

}  // namespace tessera
