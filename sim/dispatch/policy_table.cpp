#include "sim/dispatch/policy_table.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

std::span<const DispatchPolicyEntry> dispatch_policies() {
  static constexpr std::array<DispatchPolicyEntry, 1> kPolicies{{
      {"streams", "the hardware's rules: a FIFO per stream, one queue per priority, leftover, no preemption",
       make_streams},
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
