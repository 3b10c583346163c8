#include <ranges>

#include "models/memory_footprint.hpp"
#include "sim/place/job_plan.hpp"

namespace tessera {
namespace {

/// PyTorch's DistributedDataParallel: no model is split.
class DataParallelPolicy final : public ChoosingPolicy {
 public:
  [[nodiscard]] JobChoiceResult parallelism(const Job& job, const ClusterSpec& cluster,
                                            std::span<const int> free_gpus) const override {
    ParallelSpec spec = job.asked;
    spec.tp = spec.pp = 1;
    spec.stage_layers.clear();
    const std::vector<std::int64_t> sizes = micro_batch_sizes(job);
    const auto free = static_cast<int>(free_gpus.size());
    const JobChoiceResult smallest = with_replicas(spec, job, free, sizes.front());
    const int replicas = std::get<JobChoice>(smallest).parallel.dp;  // one GPU each: there always are some
    for (const std::int64_t size : std::views::reverse(sizes)) {
      const JobChoiceResult choice = with_replicas(spec, job, free, size);
      const auto& found = std::get<JobChoice>(choice);
      if (found.parallel.dp < replicas) continue;
      BuildOptions build = job.build;
      build.batch = size;
      const Graph graph = build_graph(job.model, build);
      if (memory_footprint(job.model, build, graph, found.parallel).total() <= cluster.gpu.memory) return found;
    }
    return smallest;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_data_parallel() {
  return std::make_unique<DataParallelPolicy>();
}

}  // namespace tessera
