// A model as a tenant of the sharing engine: its kernels, priced.
#pragma once

#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "models/memory_footprint.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/tenant.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

/// The kernels of one request, in order, with what the reports say about them.
struct TenantWorkload {
  std::vector<TenantKernel> kernels{};
  std::vector<std::string> names{};  // parallel
  Bytes l2_traffic{};                // compulsory bytes of a request
  Bytes memory{};                    // that the process holds
};

/// A price for the sharing engine. A compute-bound kernel's SM is full when its arithmetic is, not only when its
/// occupancy is: on fewer SMs, or beside others, blocks of one SM take turns. So `blocks_per_sm` falls to those that
/// saturate it.
KernelCost shared_cost(KernelCost cost, KernelClass kind, const GpuSpec& gpu);

/// Compute- or memory-bound by its FLOPs per byte against the GPU's ridge point (Orion, EuroSys 2024, section 5.2).
TenantWorkload tenant_workload(const ModelConfig& model, const BuildOptions& how, const GpuSpec& gpu,
                               const LatencyModel& latency);

/// The time of a request whose kernels run one after the other without a host between them.
Seconds device_time(const TenantWorkload& workload);

}  // namespace tessera
