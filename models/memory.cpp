// Kernels that only move bytes: copies, look-ups, optimizer steps.
#include <algorithm>
#include <cmath>

#include "models/occupancy.hpp"
#include "models/stream.hpp"
#include "models/vector.hpp"

namespace tessera {

namespace {

constexpr double kBytesPerBlock = 128 * 4 * 16;  // threads, vectors in flight, bytes of a vector
// Look-ups: share of a copy's rate, and clocks of an SM per element, whose index takes 64-bit divisions (PyTorch's
// index_select; NeuSight's fp32 embeddings inside models on T4 and V100, Vidur's fp16 ones on A100 and A40).
constexpr double kLookUpShare = 0.65, kLookUpClocks = 1.7;
constexpr Seconds kNothing(1e-9);  // a kernel without bytes still has a time

Seconds look_up_time(const Kernel& kernel, const Device& device) {
  const auto& shape = std::get<VectorShape>(kernel.shape);
  const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.h);
  return elements * kLookUpClocks / (device.spec.sms * device.spec.boost_clock);
}

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
  const bool looks_up = kernel.op == Op::embedding;
  const double share = looks_up ? kLookUpShare : 1.0;
  out.base = max(overlapped({hbm_time(stream, blocks, device) / share, l2_time(stream, blocks, device) / share,
                             looks_up ? look_up_time(kernel, device) : Seconds()}),
                 kNothing);
  out.floor = device.launch_floor;
  if (context.timing == Timing::eager) {
    out.floor += Seconds(weights.constants[0].second);
    out.base = max(out.base, Seconds(weights.constants[1].second));
  }
  return out;
}

}  // namespace tessera
