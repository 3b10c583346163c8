// The price of a kernel: time with error bar, and what it occupies while it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/estimate.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// What one thread block holds on its SM.
struct BlockFootprint {
  int threads = 128;
  int registers_per_thread = 32;
  Bytes shared_memory;
};

struct KernelCost {
  Estimate<Seconds> time;  // alone on the GPU, launch not included
  std::int64_t blocks = 1;
  int blocks_per_sm = 1;   // that fit at once (occupancy)
  std::int64_t waves = 1;  // ceil(blocks / (SMs x blocks_per_sm))
  BlockFootprint footprint;
  Bytes hbm_bytes;  // from or to device memory, L2 hits left out
  Joules energy;    // at p50
  Provenance provenance = Provenance::closed_form;
  /// Largest distance outside the fitted range, in widths of that range; 0: inside.
  double out_of_range = 0;
  /// Of the variance of log(measured / predicted): what all kernels of this family share on one GPU. The rest is the
  /// kernel's own, independent of other shapes. 1: wrong together.
  double shared_ratio = 1;

  /// A block's time when its SM holds blocks_per_sm blocks of this kernel.
  [[nodiscard]] Seconds tile_latency() const { return time.p50 / static_cast<double>(waves); }
};

/// Costs parallel to Plan::kernels.
using CostTable = std::vector<KernelCost>;

}  // namespace tessera
