#include "sim/place/job_plan.hpp"

namespace tessera {
namespace {

/// The corrected search, held to what the event loop runs: one width, whole replicas, plain 1F1B.
class CooptimisedPolicy final : public ChoosingPolicy {
 public:
  [[nodiscard]] JobChoiceResult parallelism(const Job& job, const ClusterSpec& cluster,
                                            std::span<const int> free_gpus) const override {
    const PlannerOptions options{.stage_widths = false,
                                 .stage_replicas = false,
                                 .interleaving = false,
                                 .device_orders = false,
                                 .equal_shares = true};
    return best_choice(job, cluster, static_cast<int>(free_gpus.size()),
                       [&](const PipelineProblem& problem) { return plan_pipeline(problem, options); });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_cooptimised() {
  return std::make_unique<CooptimisedPolicy>();
}

}  // namespace tessera
