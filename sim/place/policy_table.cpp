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
      {"cooptimised", "chooses micro-batch, tp, pp, dp and uneven stages by the corrected placement search",
       make_cooptimised},
      {"data-parallel", "every GPU holds the whole model; the largest micro-batch that fits", make_data_parallel},
      {"expert", "tp, pp and micro-batch as the scenario says, replicas over all the free GPUs", make_expert},
      {"megatron",
       "tp in the node until the model fits, then equal stages; replicas take the rest; the fastest micro-batch",
       make_megatron},
      {"packed", "consecutive GPUs, tensor-parallel groups inside a node", make_packed},
      {"phaze", "chooses micro-batch, tp, pp and dp by Phaze's dynamic programme and cost model", make_phaze},
      {"spread", "replicas dealt to the nodes in turn, tensor-parallel groups inside a node", make_spread},
  }};
  return kPolicies;
}

JobChoiceResult PlacementPolicy::parallelism(const Job& job, const ClusterSpec& /*cluster*/,
                                             std::span<const int> /*free_gpus*/) const {
  return JobChoice{job.asked, job.build.batch};
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
