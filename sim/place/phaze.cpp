#include "sim/place/job_plan.hpp"

namespace tessera {
namespace {

/// The original's cost model throughout: see PlacementRules.
class PhazePolicy final : public ChoosingPolicy {
 public:
  [[nodiscard]] JobChoiceResult parallelism(const Job& job, const ClusterSpec& cluster,
                                            std::span<const int> free_gpus) const override {
    return best_choice(job, cluster, static_cast<int>(free_gpus.size()), solve_phaze, PlacementRules::phaze());
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_phaze() {
  return std::make_unique<PhazePolicy>();
}

}  // namespace tessera
