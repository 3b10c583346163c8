#include "sim/dispatch/device_kernel.hpp"

#include <algorithm>
#include <cmath>

#include "models/device.hpp"
#include "models/occupancy.hpp"
#include "sim/base/error.hpp"
#include "sim/dispatch/block_scheduler.hpp"

namespace tessera {

namespace {

// What an SM draws of device memory in a grid that fills the GPU, over its fair part: half of the SMs still reach full
// bandwidth (LLM decode keeps its speed down to about half of the SMs).
constexpr double kDrawOverFair = 2;

/// The tile's time where SMs and bandwidth are those of a share. What overlaps adds as in models/stream.hpp, by fourth
/// powers, so the part that does not wait for memory is T_c = (T^4 - T_m^4)^1/4.
Seconds tile_on_share(const DeviceKernel& whole, const DeviceKernel& part, int sms, const GpuSpec& gpu,
                      GpuShare share) {
  const Device device = derive_device(gpu);
  const BytesPerSec draw = min(device.hbm_per_sm, gpu.memory_bandwidth * (kDrawOverFair / gpu.sms));
  const auto memory_time = [&](const DeviceKernel& kernel, int on, double hbm) {
    const auto resident = static_cast<double>(std::min(kernel.blocks, kernel.full_wave));
    const double active = std::min(static_cast<double>(on), resident);
    return resident * whole.hbm_per_block / min(device.hbm * hbm, active * draw);
  };
  const double tile = whole.tile_latency.value();
  const double memory = std::min(tile, memory_time(whole, gpu.sms, 1).value());
  const double rest = std::pow(tile, 4) - std::pow(memory, 4);
  return Seconds(std::pow(
      rest + std::pow(memory * (memory_time(part, sms, share.hbm) / memory_time(whole, gpu.sms, 1)), 4), 0.25));
}

}  // namespace

DeviceKernel device_kernel(const KernelCost& cost, const GpuSpec& gpu, GpuShare share) {
  DeviceKernel kernel;
  const auto cut = [&kernel](int sms) {
    kernel.full_wave = std::int64_t{sms} * kernel.blocks_per_sm;
    kernel.waves = (kernel.blocks + kernel.full_wave - 1) / kernel.full_wave;
  };
  kernel.blocks = std::max<std::int64_t>(cost.blocks, 1);
  const SmLimits limits = sm_limits(gpu);
  kernel.blocks_per_sm = std::clamp(cost.blocks_per_sm, 1, std::min(limits.blocks, limits.threads));
  kernel.footprint = fitted_footprint(limits, cost.footprint, kernel.blocks_per_sm);
  cut(gpu.sms);
  kernel.tile_latency = cost.time.p50 / static_cast<double>(kernel.waves);
  TESSERA_ASSERT(kernel.tile_latency > Seconds(0.0), "a kernel takes time");
  const double together = static_cast<double>(std::min(kernel.blocks, kernel.full_wave));
  kernel.hbm_per_block =
      min(cost.hbm_bytes / static_cast<double>(kernel.blocks), gpu.memory_bandwidth * kernel.tile_latency / together);
  kernel.energy_per_block = cost.energy / static_cast<double>(kernel.blocks);
  const int sms = share.sms > 0 ? share.sms : gpu.sms;
  if (sms == gpu.sms && share.hbm == 1) return kernel;
  const DeviceKernel whole = kernel;
  cut(sms);
  if (kernel.hbm_per_block > Bytes(0.0)) kernel.tile_latency = tile_on_share(whole, kernel, sms, gpu, share);
  return kernel;
}

}  // namespace tessera
