#include "sim/place/tensor_groups.hpp"

namespace tessera {
namespace {

/// Groups dealt to the nodes in turn: every replica has as much of a node's NICs and power as there is.
class Spread final : public PlacementPolicy {
 public:
  [[nodiscard]] PlacementResult place(const Plan& plan, const ClusterSpec& cluster,
                                      std::span<const int> free_gpus) const override {
    const auto found = tensor_group_slots(plan.spec, cluster, free_gpus);
    if (const auto* no = std::get_if<Infeasible>(&found)) return *no;
    const auto& units = std::get<GroupSlots>(found).slots;
    const auto world = static_cast<std::size_t>(plan.spec.world_size());
    Placement placement;
    for (std::size_t turn = 0; placement.gpu_of_rank.size() < world; ++turn)
      for (const auto& unit : units)
        if (turn < unit.size() && placement.gpu_of_rank.size() < world)
          placement.gpu_of_rank.insert(placement.gpu_of_rank.end(), unit[turn].begin(), unit[turn].end());
    return placement;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_spread() {
  return std::make_unique<Spread>();
}

}  // namespace tessera
