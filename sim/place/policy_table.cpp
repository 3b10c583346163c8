#include <array>
#include <string>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/place/job_plan.hpp"
#include "sim/place/tensor_groups.hpp"

namespace tessera {

std::span<const PlacementPolicyEntry> placement_policies() {
  static constexpr std::array<PlacementPolicyEntry, 7> kPolicies{{
      {"cooptimised", "chooses tp, pp, dp and uneven stages by the corrected placement search", make_cooptimised},
      {"data-parallel", "every free GPU holds the whole model", make_data_parallel},
      {"expert", "tp and pp as the scenario says, replicas over all the free GPUs", make_expert},
      {"megatron", "tp in the node until the model fits, then equal stages; replicas take the rest", make_megatron},
      {"packed", "consecutive GPUs, tensor-parallel groups inside a node", make_packed},
      {"phaze", "chooses tp, pp and dp by Phaze's dynamic programme and cost model", make_phaze},
      {"spread", "replicas dealt to the nodes in turn, tensor-parallel groups inside a node", make_spread},
  }};
  return kPolicies;
}

ParallelismResult PlacementPolicy::parallelism(const Job& job, const ClusterSpec& /*cluster*/,
                                               std::span<const int> /*free_gpus*/) const {
  return job.asked;
}

std::unique_ptr<PlacementPolicy> make_placement_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& entry : placement_policies()) {
    if (entry.name == name) return entry.make();
    names.emplace_back(entry.name);
  }
  throw InputError(Diagnostic{"", 0, 0,
                              fmt::format("unknown placement policy '{}'{}; there are {}", name,
                                          did_you_mean(name, names), fmt::join(names, ", "))});
}

}  // namespace tessera
