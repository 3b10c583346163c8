// How many blocks of a kernel an SM holds at once.
#pragma once

#include "models/kernel_cost.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {

/// What one SM offers.
struct SmLimits {
  int threads = 2048;
  int blocks = 32;
  double registers = 65536;  // 32-bit registers
  Bytes shared_memory;
};
SmLimits sm_limits(const GpuSpec& gpu);

/// Blocks of this footprint that one SM holds at once; 0: not even one.
int occupancy(const SmLimits& limits, const BlockFootprint& footprint);

/// The same for a kernel that runs on this GPU, so at least 1: a footprint is a typical one, not the compiler's.
int resident_blocks(const GpuSpec& gpu, const BlockFootprint& footprint);

}  // namespace tessera
