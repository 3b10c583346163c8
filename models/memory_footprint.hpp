// What one GPU must hold, by component.
#pragma once

#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/graph/graph.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

struct MemoryComponent {
  std::string name;  // weights, gradients, optimizer, kv cache, activations, buffers, fragmentation, context
  Bytes size;
  std::string formula;  // in words, for the report
};

struct MemoryFootprint {
  std::vector<MemoryComponent> components;
  [[nodiscard]] Bytes total() const;
};

/// Peak per GPU under `spec`, of the fullest pipeline device: activations by liveness under the schedule
/// (activations.hpp), state divided as ZeRO's stage says, two gathered layers under zero3. Throws RunError where a
/// count cannot be honoured. Fragmentation and contexts are assumptions. Not modelled: liveness inside a layer, what
/// eager elementwise chains keep besides, offload.
MemoryFootprint memory_footprint(const ModelConfig& config, const BuildOptions& options, const Graph& graph,
                                 const ParallelSpec& spec);

/// The same of a network of sim/graph/zoo on one GPU; `context`: what an idle process holds. Not modelled: cuDNN's
/// workspaces, fragmentation.
MemoryFootprint network_footprint(const BuildOptions& options, const Graph& graph, Bytes context);

}  // namespace tessera
