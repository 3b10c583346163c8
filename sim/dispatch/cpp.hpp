// CPP: critical-path priority packing. The settings are what `lookahead` tries.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/dispatch/policy.hpp"

namespace tessera {

struct CppSettings {
  enum class Order : std::uint8_t { longest, shortest, deadline, arrival } order = Order::longest;
  bool priorities = true;      // the tenants' own come first
  double bandwidth_cap = 0;    // of the GPU's, for all demand while the critical tenant is at work; 0: none
  bool reserve = false;        // others leave the critical tenant's next kernel the SMs that it needs
  bool hold = false;           // a kernel that finds no room holds up the less urgent, as in hardware
  std::vector<double> bias{};  // per tenant, of the remaining time; empty: 1

  bool operator==(const CppSettings&) const = default;
};

std::unique_ptr<DispatchPolicy> make_cpp_with(CppSettings settings);

}  // namespace tessera
