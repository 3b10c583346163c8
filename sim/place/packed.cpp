#include "sim/place/tensor_groups.hpp"

namespace tessera {
namespace {

class Packed final : public PlacementPolicy {
 public:
  [[nodiscard]] PlacementResult place(const Plan& plan, const ClusterSpec& cluster,
                                      std::span<const int> free_gpus) const override {
    return packed_placement(plan.spec, cluster, free_gpus);
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_packed() {
  return std::make_unique<Packed>();
}

}  // namespace tessera
