// Kernels that only move bytes: copies, look-ups, optimizer steps.
#include <algorithm>
#include <cmath>

#include "models/occupancy.hpp"
#include "models/stream.hpp"
#include "models/vector.hpp"

namespace tessera {

namespace {

constexpr double kBytesPerBlock = 128 * 4 * 16;  // threads, vectors in flight, bytes of a vector
// Look-ups reach this share of a copy's rate (NeuSight's embeddings inside models: T4 0.53, V100 0.69).
constexpr double kLookUpShare = 0.6;
constexpr Seconds kNothing(1e-9);  // a kernel without bytes still has a time

}  // namespace

KernelAnalysis analyse_memory(const Kernel& kernel, const Device& device, const PredictContext& context,
                              const FamilyWeights& weights) {
  const Bytes bytes = traffic(kernel).total();
  const double blocks = std::max(1.0, std::ceil(bytes.value() / kBytesPerBlock));
  const Stream stream = stream_of(bytes, device, context);

  KernelAnalysis out;
  out.blocks = static_cast<std::int64_t>(blocks);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = flops(kernel);
  out.hbm_bytes = stream.hbm;
  const double share = kernel.op == Op::embedding ? kLookUpShare : 1.0;
  out.base = max(overlapped({hbm_time(stream, blocks, device), l2_time(stream, blocks, device)}) / share, kNothing);
  out.floor = device.launch_floor;
  if (context.timing == Timing::eager) {
    out.floor += Seconds(weights.constants[0].second);
    out.base = max(out.base, Seconds(weights.constants[1].second));
  }
  return out;
}

}  // namespace tessera
