#include "sim/dispatch/policy_table.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

std::span<const DispatchPolicyEntry> dispatch_policies() {
  static constexpr bool kTenants = true;
  static constexpr std::array<DispatchPolicyEntry, 13> kPolicies{{
      {"abacus", "groups of kernels whose predicted overlap keeps the deadlines", make_abacus, kTenants},
      {"cpp", "critical-path priority packing: the longest way to go first, the others fill", make_cpp, kTenants},
      {"gacer", "pieces and pointers found by GACER's search, on streams", make_gacer, kTenants},
      {"lookahead", "the best of a portfolio, run ahead from the present state", make_lookahead, kTenants},
      {"mig", "a MIG slice for each tenant", make_mig, kTenants},
      {"mps", "a process each, side by side, with SM caps", make_mps, kTenants},
      {"orion", "best-effort kernels where they fit beside and are of the other class", make_orion, kTenants},
      {"reef", "urgent kernels kill the others' blocks; padding beside them", make_reef, kTenants},
      {"sequential", "one request after the other", make_sequential, kTenants},
      {"streams", "the hardware's rules: a FIFO per stream, one queue per priority, leftover, no preemption",
       make_streams},
      {"streams+priority", "the same, by the tenants' priorities, the longer request first", make_streams_priority,
       kTenants},
      {"tally", "best-effort kernels in slices of blocks while no urgent request is open", make_tally, kTenants},
      {"timeslice", "a process each, taking turns", make_timeslice, kTenants},
  }};
  return kPolicies;
}

std::unique_ptr<DispatchPolicy> make_dispatch_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& entry : dispatch_policies()) {
    if (entry.name == name) return entry.make();
    names.emplace_back(entry.name);
  }
  throw InputError(Diagnostic{"", 0, 0,
                              fmt::format("unknown dispatch policy '{}'{}; there are: {}", name,
                                          did_you_mean(name, names), fmt::join(names, ", "))});
}

}  // namespace tessera
