#include "sim/place/tensor_groups.hpp"

namespace tessera {
namespace {

/// Groups in the order of their GPUs: as few nodes as possible, neighbours in data parallelism side by side.
class Packed final : public PlacementPolicy {
 public:
  [[nodiscard]] PlacementResult place(const Plan& plan, const ClusterSpec& cluster,
                                      std::span<const int> free_gpus) const override {
    const auto found = tensor_group_slots(plan.spec, cluster, free_gpus);
    if (const auto* no = std::get_if<Infeasible>(&found)) return *no;
    const auto world = static_cast<std::size_t>(plan.spec.world_size());
    Placement placement;
    for (const auto& unit : std::get<GroupSlots>(found).slots)
      for (const auto& slot : unit)
        if (placement.gpu_of_rank.size() < world)
          placement.gpu_of_rank.insert(placement.gpu_of_rank.end(), slot.begin(), slot.end());
    return placement;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_packed() {
  return std::make_unique<Packed>();
}

}  // namespace tessera
