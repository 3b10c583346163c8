// One rank's part of every operator, sorted by virtual stage: what a planner strings together.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "sim/graph/pipeline.hpp"
#include "sim/graph/plan.hpp"
#include "sim/graph/tensor_parallel.hpp"

namespace tessera {

/// An operator's kernel on one rank, and what it communicates.
struct RankOperator {
  KernelId kernel{};
  Bytes sum{};                   // over tp
  bool hidden_sum = false;       // the sum is a layer's hidden states, which sequence parallelism scatters
  bool split = false;            // tp divides it: it wants the whole sequence
  Bytes passed{};                // over cp, beside it
  Bytes routed{};                // over ep, before and after
  Bytes gradient{};              // of the parameter that it completes; 0: none, or nobody to share it with
  bool expert_gradient = false;  // reduced over edp
};

/// Operators of one virtual stage, in the order of the graph. Chunk c of device d is virtual stage c pp + d.
struct StageOperators {
  std::vector<std::size_t> forward, backward, optimizer;
  std::map<std::int32_t, std::vector<std::size_t>> forward_of_layer;
  std::map<std::int32_t, Bytes> parameters, experts;  // of each layer (-1: outside), in the model's type
};

class RankOperators {
 public:
  /// RunError where a count cannot be honoured.
  RankOperators(const Graph& graph, const ParallelSpec& spec);

  [[nodiscard]] const RankOperator& of(std::size_t op) const { return operators_[op]; }
  [[nodiscard]] const StageOperators& stage(int virtual_stage) const {
    return stages_[static_cast<std::size_t>(virtual_stage)];
  }
  [[nodiscard]] Bytes bytes_of(ParameterId parameter) const;  // reduced, of one rank
  /// Adam over so many elements of this rank's parameters, or over its share of them.
  KernelId optimizer_kernel(std::int64_t elements);
  [[nodiscard]] std::int64_t local_elements(ParameterId parameter) const;
  std::vector<Kernel> take_kernels() { return std::move(kernels_); }

 private:
  KernelId kernel_id(const Kernel& kernel);
  [[nodiscard]] RankOperator local(const Operator& op, int stage_replicas);
  void sort(const StageMap& map);

  const Graph& graph_;
  const ParallelSpec& spec_;
  TensorParallel tensor_;
  std::vector<Kernel> kernels_;
  std::unordered_map<Kernel, KernelId, KernelHash> ids_;
  std::vector<RankOperator> operators_;
  std::vector<StageOperators> stages_;
};

}  // namespace tessera
