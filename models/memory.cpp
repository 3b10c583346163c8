// Kernels that only move bytes: copies, look-ups, optimizer steps.
#include <algorithm>
#include <cmath>

#include "models/cache.hpp"
#include "models/vector.hpp"

namespace tessera {

namespace {

constexpr double kBytesPerBlock = 128 * 4 * 16;  // threads, vectors in flight, bytes of a vector
constexpr double kSetSpill = 3;                  // as for elementwise operators

}  // namespace

KernelAnalysis analyse_memory(const Kernel& kernel, const Device& device, const PredictContext& context,
                              const FamilyWeights& weights) {
  KernelAnalysis out;
  const Bytes bytes = traffic(kernel).total();
  const double spilled =
      context.residency == Residency::cold ? 1 : spilled_share(bytes, usable_l2(device.spec), kSetSpill);
  const double blocks = std::max(1.0, std::ceil(bytes.value() / kBytesPerBlock));
  const double busy = std::min(blocks, static_cast<double>(device.spec.sms));
  out.blocks = static_cast<std::int64_t>(blocks);
  out.blocks_per_sm = occupancy(out.footprint, device.spec);
  out.executed = flops(kernel);
  out.hbm_bytes = bytes * spilled;
  out.base = out.hbm_bytes / min(device.hbm, device.hbm_per_sm * busy) +
             (bytes - out.hbm_bytes) / (device.l2 * (busy / device.spec.sms));
  out.base = max(out.base, Seconds(1e-9));
  out.floor = device.launch_floor;
  if (context.timing == Timing::eager) {
    out.floor += Seconds(weights.constants[0].second);
    out.base = max(out.base, Seconds(weights.constants[1].second));
  }
  return out;
}

}  // namespace tessera
