// Tenants whose timelines can be computed by hand: spinning kernels, no interference.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/occupancy.hpp"
#include "sim/dispatch/evaluate.hpp"

namespace tessera {

/// SMs of 2,048 threads: two blocks of 1,024.
inline GpuSpec spin_gpu(int sms) {
  GpuSpec gpu;
  gpu.name = "test";
  gpu.vendor = "NVIDIA";
  gpu.sms = sms;
  gpu.memory_bandwidth = BytesPerSec(1e12);
  gpu.threads_per_sm = 2048;
  gpu.blocks_per_sm = 32;
  gpu.registers_per_sm = Bytes(262144.0);
  gpu.shared_memory_per_sm = Bytes(102400.0);
  gpu.memory = Bytes(16e9);
  gpu.memory_type = "HBM2";
  gpu.power_cap = Watts(300.0);
  gpu.boost_clock = Hertz(1.5e9);
  return gpu;
}

inline TenantKernel spin(const GpuSpec& gpu, std::int64_t blocks, Seconds tile, int threads = 1024,
                         KernelClass kind = KernelClass::unknown) {
  TenantKernel kernel;
  KernelCost& cost = kernel.cost;
  cost.blocks = blocks;
  cost.footprint = {threads, 0, Bytes(0.0)};
  cost.blocks_per_sm = occupancy(sm_limits(gpu), cost.footprint);
  const std::int64_t wave = std::int64_t{gpu.sms} * cost.blocks_per_sm;
  cost.waves = (blocks + wave - 1) / wave;
  cost.time = Estimate<Seconds>::exact(tile * static_cast<double>(cost.waves));
  kernel.kind = kind;
  return kernel;
}

inline Tenant tenant(std::vector<TenantKernel> kernels, int priority = 0, std::vector<Seconds> dates = {}) {
  Tenant tenant;
  tenant.name = "tenant";
  tenant.kernels = std::move(kernels);
  tenant.priority = priority;
  tenant.arrivals.dates = std::move(dates);
  return tenant;
}

inline SharingOptions undisturbed() {
  SharingOptions options;
  options.terms = {.hbm = true, .issue = false, .l2 = false, .clock = false, .launch = false};
  options.grain = 0;
  options.record_kernels = true;
  return options;
}

/// End of each tenant's last request.
inline std::vector<double> ends_of(const Timeline& timeline, std::size_t tenants) {
  std::vector<double> ends(tenants);
  for (const RequestSpan& request : timeline.requests) ends[request.tenant] = request.end.value();
  return ends;
}

}  // namespace tessera
