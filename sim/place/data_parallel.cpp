#include "sim/place/job_plan.hpp"

namespace tessera {
namespace {

/// PyTorch's DistributedDataParallel: no model is split.
class DataParallelPolicy final : public ChoosingPolicy {
 public:
  [[nodiscard]] ParallelismResult parallelism(const Job& job, const ClusterSpec& /*cluster*/,
                                              std::span<const int> free_gpus) const override {
    ParallelSpec spec = job.asked;
    spec.tp = spec.pp = 1;
    spec.stage_layers.clear();
    return with_replicas(spec, job, static_cast<int>(free_gpus.size()));
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_data_parallel() {
  return std::make_unique<DataParallelPolicy>();
}

}  // namespace tessera
