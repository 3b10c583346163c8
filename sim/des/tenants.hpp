// Tenants on one shared GPU in the event loop.
#pragma once

#include <span>

#include "sim/dispatch/evaluate.hpp"

namespace tessera {

/// What `evaluate` answers, by SimGrid. Once per process.
Timeline simulate_tenants(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                          const SharingOptions& options = {});

/// The same in a process of its own.
Timeline simulate_tenants_isolated(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                                   const SharingOptions& options = {});

}  // namespace tessera
