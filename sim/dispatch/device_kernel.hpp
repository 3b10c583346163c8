// A kernel's price, cut into blocks for one GPU or for a share of one.
#pragma once

#include <cstdint>

#include "models/kernel_cost.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {

/// What of a GPU a kernel can use: SMs under an MPS cap or of a MIG slice, and that slice's part of the bandwidth.
struct GpuShare {
  int sms = 0;     // 0: all
  double hbm = 1;  // part of the bandwidth, (0, 1]
};

/// What bounds a kernel (Orion, EuroSys 2024).
enum class KernelClass : std::uint8_t { unknown, compute, memory };

struct DeviceKernel {
  BlockFootprint footprint;  // of which exactly blocks_per_sm fit
  std::int64_t blocks = 1, full_wave = 1, waves = 1;
  int blocks_per_sm = 1;
  Seconds tile_latency;     // of a block, and of a wave
  Bytes hbm_per_block;      // at most what HBM gives while the block runs; the rest hits L2
  Joules energy_per_block;  // above idle
  KernelClass kind = KernelClass::unknown;
  [[nodiscard]] Seconds time() const { return tile_latency * static_cast<double>(waves); }
  /// SMs that `resident` of its blocks fill.
  [[nodiscard]] double sms_of(std::int64_t resident) const { return static_cast<double>(resident) / blocks_per_sm; }
  [[nodiscard]] BytesPerSec demand_of(std::int64_t resident) const {
    return static_cast<double>(resident) * hbm_per_block / tile_latency;
  }
  [[nodiscard]] Watts power_of(std::int64_t resident) const {
    return static_cast<double>(resident) * energy_per_block / tile_latency;
  }
};

/// On a share of the GPU there are more waves, and each SM can draw more bandwidth, so that tiles which wait for
/// memory are faster: README.md, "Shares".
DeviceKernel device_kernel(const KernelCost& cost, const GpuSpec& gpu, GpuShare share = {});

}  // namespace tessera
