// From a job to a placement problem and from its plan to a parallelism: what the policies that choose one share.
#pragma once

#include <memory>
#include <span>

#include "sim/place/pipeline/placement.hpp"
#include "sim/place/policy.hpp"

namespace tessera {

/// The job on so many devices: a layer for each of the model's, the embedding with the first and the head with the
/// last. Kernels by the latency model; sums over tp as rings inside a node; memory of a layer as its part of
/// `memory_footprint`, what every GPU needs anyway taken off the device's. Widths: the powers of two in a node that
/// divide the heads. The network: a node, then the cluster through a GPU's part of the NICs.
/// Not modelled: the optimizer's time, recomputation.
PipelineProblem job_problem(const Job& job, const ClusterSpec& cluster, int devices);

/// The plan as the event loop runs it: one width, whole replicas, of them as many as divide the micro-batches.
ParallelismResult parallelism_of(const PlanOutcome& outcome, const Job& job);

/// As many replicas of tp x pp GPUs as are free and divide the micro-batches of the step.
ParallelismResult with_replicas(ParallelSpec spec, const Job& job, int free_gpus);

/// Choose a parallelism, place it as `packed` does.
class ChoosingPolicy : public PlacementPolicy {
 public:
  [[nodiscard]] bool chooses() const override { return true; }
  [[nodiscard]] PlacementResult place(const Plan& plan, const ClusterSpec& cluster,
                                      std::span<const int> free_gpus) const override;
};

std::unique_ptr<PlacementPolicy> make_cooptimised();
std::unique_ptr<PlacementPolicy> make_data_parallel();
std::unique_ptr<PlacementPolicy> make_expert();
std::unique_ptr<PlacementPolicy> make_megatron();
std::unique_ptr<PlacementPolicy> make_phaze();

}  // namespace tessera
