// Which GPUs of the cluster a job's ranks run on.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

/// GPU (global index) of each rank.
struct Placement {
  std::vector<int> gpu_of_rank;
};
struct Infeasible {
  std::string why;
};
using PlacementResult = std::variant<Placement, Infeasible>;

/// Called at job arrival with the GPUs that are free then.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  [[nodiscard]] virtual PlacementResult place(const Plan& plan, const ClusterSpec& cluster,
                                              std::span<const int> free_gpus) const = 0;
};

struct PlacementPolicyEntry {
  std::string_view name, what;
  std::unique_ptr<PlacementPolicy> (*make)();
};
std::span<const PlacementPolicyEntry> placement_policies();  // alphabetical: `packed` (default), `spread`
std::unique_ptr<PlacementPolicy> make_placement_policy(std::string_view name);

}  // namespace tessera
