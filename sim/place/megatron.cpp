#include "sim/place/job_plan.hpp"
#include "sim/place/pipeline/baselines.hpp"

namespace tessera {
namespace {

/// Narayanan et al. (arXiv 2104.04473), takeaways 1 to 3.
class MegatronPolicy final : public ChoosingPolicy {
 public:
  [[nodiscard]] JobChoiceResult parallelism(const Job& job, const ClusterSpec& cluster,
                                            std::span<const int> free_gpus) const override {
    return best_choice(job, cluster, static_cast<int>(free_gpus.size()),
                       [](const PipelineProblem& problem) { return megatron_plan(problem); });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_megatron() {
  return std::make_unique<MegatronPolicy>();
}

}  // namespace tessera
