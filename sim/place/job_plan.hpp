// From a job to a placement problem and from its plan to a parallelism: what the policies that choose one share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/place/pipeline/placement.hpp"
#include "sim/place/policy.hpp"

namespace tessera {

/// The job on so many devices in micro-batches of so many samples: a layer for each of the model's, the embedding with
/// the first and the head with the last. Kernels by the latency model; sums over tp as rings inside a node; memory of a
/// layer as its part of `memory_footprint`, what every GPU needs anyway taken off the device's. Widths: the powers of
/// two in a node that divide the heads. The network: a node, then the cluster through a GPU's part of the NICs.
/// Not modelled: the optimizer's time, recomputation.
PipelineProblem job_problem(const Job& job, const ClusterSpec& cluster, int devices, std::int64_t micro_batch);

/// Sizes of a micro-batch that are tried: divisors of the samples, or the job's own alone.
std::vector<std::int64_t> micro_batch_sizes(const Job& job);

using PlanSolver = std::function<PlanOutcome(const PipelineProblem&)>;
/// The solver's fastest plan over all sizes of a micro-batch, as the event loop runs it: one width, whole replicas, of
/// them as many as divide the micro-batches. Timed by `rules`.
JobChoiceResult best_choice(const Job& job, const ClusterSpec& cluster, int devices, const PlanSolver& solve,
                            const PlacementRules& rules = {});

/// As many replicas of tp x pp GPUs (or more, where stages have replicas of their own) as are free and divide the
/// samples of the step into micro-batches.
JobChoiceResult with_replicas(ParallelSpec spec, const Job& job, int free_gpus, std::int64_t micro_batch);

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
