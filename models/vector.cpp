// Elementwise operators: bytes over reachable bandwidth, or lane cycles where a power or an exponential counts.
#include "models/vector.hpp"

#include <algorithm>
#include <cmath>

#include "models/occupancy.hpp"
#include "models/stream.hpp"

namespace tessera {

namespace {

constexpr double kThreads = 128, kElementsPerThread = 4;  // PyTorch's vectorised kernels (aten, cuda/Loops.cuh)

// Passes over the compulsory bytes, measured inside models (NeuSight's model operators on V100 and A100-PCIE-80GB).
// layernorm: 30 bytes per fp32 element instead of 20, dx reading its two operands twice. softmax: the 24 bytes measured
// are those of two kernels, the other a product that the graph holds by itself.
constexpr double kNormBackwardPasses = 1.5;

// Below what fp32 rows can show (55 on A100); matters in 16 bits.
constexpr double kSimpleCycles = 4, kExponentialCycles = 16;

double constant(const FamilyWeights& weights, VectorConstant which) {
  return weights.constants[static_cast<std::size_t>(which)].second;
}

double passes(Op op) {
  return op == Op::layernorm_backward || op == Op::rmsnorm_backward ? kNormBackwardPasses : 1.0;
}

double lane_cycles(Op op, const GpuSpec& gpu, const FamilyWeights& weights) {
  switch (op) {
    case Op::pow:
    case Op::powu:
      return constant(weights, gpu.warp_size == 64 ? VectorConstant::pow_cycles_wave64 : VectorConstant::pow_cycles);
    case Op::gelu:
    case Op::silu:
    case Op::tanh:
      return kExponentialCycles;
    default:
      return kSimpleCycles;
  }
}

}  // namespace

KernelAnalysis analyse_vector(const Kernel& kernel, const Device& device, const PredictContext& context,
                              const FamilyWeights& weights) {
  const auto& shape = std::get<VectorShape>(kernel.shape);
  const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.h);
  const double blocks = std::ceil(elements / (kThreads * kElementsPerThread));
  const Stream stream = stream_of(traffic(kernel).total() * passes(kernel.op), device, context);
  const double lanes = static_cast<double>(device.spec.sms) * device.spec.fp32_lanes_per_sm;
  const Seconds compute = elements * lane_cycles(kernel.op, device.spec, weights) / (lanes * device.spec.boost_clock);

  KernelAnalysis out;
  out.footprint.threads = static_cast<int>(kThreads);
  out.blocks = static_cast<std::int64_t>(blocks);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = flops(kernel);
  out.hbm_bytes = stream.hbm;
  out.base = overlapped({hbm_time(stream, blocks, device), l2_time(stream, blocks, device), compute});
  out.floor = device.launch_floor;
  if (context.timing == Timing::eager) {
    out.floor += Seconds(constant(weights, VectorConstant::eager));
    out.base = max(out.base, Seconds(constant(weights, VectorConstant::eager_hidden)));
  }
  return out;
}

}  // namespace tessera
