#include <utility>

#include "sim/place/job_plan.hpp"

namespace tessera {
namespace {

/// An expert's plan stretched to the GPUs that are free.
class ExpertPolicy final : public ChoosingPolicy {
 public:
  [[nodiscard]] bool keeps_stages() const override { return true; }
  [[nodiscard]] JobChoiceResult parallelism(const Job& job, const ClusterSpec& /*cluster*/,
                                            std::span<const int> free_gpus) const override {
    const int free = static_cast<int>(free_gpus.size());
    if (!job.chooses_micro_batch) return with_replicas(job.asked, job, free, job.build.batch);
    JobChoiceResult choice = with_replicas(job.asked, job, free, 1);  // prompts, in one batch a replica
    if (auto* found = std::get_if<JobChoice>(&choice))
      found->micro_batch = std::exchange(found->parallel.micro_batches, 1);
    return choice;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_expert() {
  return std::make_unique<ExpertPolicy>();
}

}  // namespace tessera
