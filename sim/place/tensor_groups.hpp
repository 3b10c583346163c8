// Where tensor-parallel groups fit: the part that `packed` and `spread` share.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/place/policy.hpp"

namespace tessera {

/// Places for one tensor-parallel group each. `slots[i]` are the slots of unit i: a node, or, where a group is wider
/// than a node, the run of nodes that it needs. A slot lists global GPU indices in rank order.
struct GroupSlots {
  std::vector<std::vector<std::vector<int>>> slots;
};
/// Groups stay inside a node; one wider than a node takes whole nodes. Too few GPUs or slots: Infeasible.
std::variant<GroupSlots, Infeasible> tensor_group_slots(const ParallelSpec& spec, const ClusterSpec& cluster,
                                                        std::span<const int> free_gpus);

/// Groups in the order of their GPUs: as few nodes as possible, neighbours in data parallelism side by side.
PlacementResult packed_placement(const ParallelSpec& spec, const ClusterSpec& cluster, std::span<const int> free_gpus);

std::unique_ptr<PlacementPolicy> make_packed();
std::unique_ptr<PlacementPolicy> make_spread();

}  // namespace tessera
