#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/place/jobs/gang.hpp"

namespace tessera {

std::span<const GangPolicyEntry> gang_policies() {
  static constexpr std::array<GangPolicyEntry, 5> kPolicies{{
      {"first_fit", "the free GPUs of the lowest numbers", make_gang_first_fit},
      {"packed", "the fewest nodes, and of these the fullest", make_gang_packed},
      {"random", "any free GPUs, by the seed", make_gang_random},
      {"spread", "as many nodes as can be, the emptiest first", make_gang_spread},
      {"topology", "packed, and a job of several nodes in the fullest neighbourhood of the fabric that holds it",
       make_gang_topology},
  }};
  return kPolicies;
}

const GangPolicyEntry& find_gang_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const GangPolicyEntry& entry : gang_policies()) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw InputError(Diagnostic{"", 0, 0,
                              fmt::format("unknown placement of jobs '{}'{}; there are: {}", name,
                                          did_you_mean(name, names), fmt::join(names, ", "))});
}

}  // namespace tessera
