// Tenants on shared GPUs in the event loop.
#pragma once

#include <span>
#include <vector>

#include "sim/dispatch/evaluate.hpp"

namespace tessera {

/// One GPU of several that run beside each other.
struct TenantGpu {
  std::span<const Tenant> tenants;
  const GpuSpec& gpu;
  DispatchPolicy& policy;  // of this GPU alone
  SharingOptions options{};
};

/// What `evaluate` answers for each, by SimGrid; `events` are those of all. Once per process.
std::vector<Timeline> simulate_tenants(std::span<const TenantGpu> gpus);

/// The same in a process of its own.
std::vector<Timeline> simulate_tenants_isolated(std::span<const TenantGpu> gpus);
Timeline simulate_tenants_isolated(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                                   const SharingOptions& options = {});

}  // namespace tessera
