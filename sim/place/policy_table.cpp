#include <array>
#include <string>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/place/tensor_groups.hpp"

namespace tessera {

std::span<const PlacementPolicyEntry> placement_policies() {
  static constexpr std::array<PlacementPolicyEntry, 2> kPolicies{{
      {"packed", "consecutive GPUs, tensor-parallel groups inside a node", make_packed},
      {"spread", "replicas dealt to the nodes in turn, tensor-parallel groups inside a node", make_spread},
  }};
  return kPolicies;
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
