#include "models/occupancy.hpp"

#include <algorithm>
#include <cmath>

namespace tessera {

namespace {

constexpr double kRegisterBytes = 4;

/// How many of `each` fit into `available`.
int fits(double available, double each, int most) {
  if (each <= 0) return most;
  return static_cast<int>(std::min(std::floor(available / each), static_cast<double>(most)));
}

}  // namespace

SmLimits sm_limits(const GpuSpec& gpu) {
  return {gpu.threads_per_sm, gpu.blocks_per_sm, gpu.registers_per_sm.value() / kRegisterBytes,
          gpu.shared_memory_per_sm};
}

int occupancy(const SmLimits& limits, const BlockFootprint& footprint) {
  int most = std::min(limits.blocks, limits.threads / std::max(footprint.threads, 1));
  most = fits(limits.registers, static_cast<double>(footprint.threads) * footprint.registers_per_thread, most);
  return fits(limits.shared_memory.value(), footprint.shared_memory.value(), most);
}

int resident_blocks(const GpuSpec& gpu, const BlockFootprint& footprint) {
  return std::max(1, occupancy(sm_limits(gpu), footprint));
}

}  // namespace tessera
