// Elementwise operators, softmax, norms and their backwards: bytes over reachable bandwidth, and what keeps a kernel
// from it: rows that spill from L2 between passes, latency of a block's dependent steps, instruction issue.
#include "models/vector.hpp"

#include <algorithm>
#include <cmath>

#include "models/cache.hpp"

namespace tessera {

namespace {

// PyTorch 2.1's launch shapes (aten/src/ATen/native/cuda: Loops.cuh, PersistentSoftmax.cuh, SoftMax.cu,
// layer_norm_kernel.cu).
constexpr double kThreads = 128, kElementsPerThread = 4, kVectorBytes = 16;
constexpr double kWarpSoftmaxMax = 1024;  // longer rows take a block each and three passes
constexpr double kSoftmaxThreadsMax = 1024;

// Terms combine as the fourth root of the sum of fourth powers: nearly the largest, rounded where two are close.
constexpr double kSharpness = 4;
// Rows in flight spill where they fill this share of L2, and how sharply; the whole set of a repeated call, how
// sharply.
constexpr double kRowShare = 0.95, kRowSpill = 5, kSetSpill = 3;

// Kernels per element beyond the compulsory bytes. softmax: gradient times output is a kernel of its own; layernorm: dx
// reads its two operands twice (30 of 20 bytes per fp32 element measured inside models, NeuSight's model operators).
constexpr double kSoftmaxBackwardPasses = 2.0, kNormBackwardPasses = 1.5;

// Lane cycles per element where arithmetic may count in 16 bits; below what fp32 rows can show (55 on A100).
constexpr double kSimpleCycles = 4, kExponentialCycles = 16;
// rmsnorm has no running mean, so about half of layernorm's instructions.
constexpr double kRmsShare = 0.5;

/// How a row-wise kernel is cut.
struct Cut {
  BlockFootprint footprint;
  double rows_per_block = 1;
  double rereads = 0;       // of each input element
  double block_cycles = 0;  // from start to end of a block, alone
  double issue_cycles = 0;  // of all schedulers of an SM together, per block
};

double constant(const FamilyWeights& weights, VectorConstant which) {
  return weights.constants[static_cast<std::size_t>(which)].second;
}

bool is_softmax(Op op) {
  return op == Op::softmax || op == Op::softmax_backward;
}
bool is_norm(Op op) {
  return op == Op::layernorm || op == Op::rmsnorm || op == Op::layernorm_backward || op == Op::rmsnorm_backward;
}

double passes(Op op) {
  if (op == Op::softmax_backward) return kSoftmaxBackwardPasses;
  return op == Op::layernorm_backward || op == Op::rmsnorm_backward ? kNormBackwardPasses : 1.0;
}

double lane_cycles(Op op, const FamilyWeights& weights) {
  switch (op) {
    case Op::pow:
    case Op::powu:
      return constant(weights, VectorConstant::pow_cycles);
    case Op::gelu:
    case Op::silu:
    case Op::tanh:
      return kExponentialCycles;
    default:
      return kSimpleCycles;
  }
}

/// Smallest power of two that is at least half of what the row could use (SoftMax_getBlockSize).
double softmax_threads(double width, double vector) {
  const double most = std::min(std::floor(width / vector), kSoftmaxThreadsMax);
  return std::max(32.0, std::exp2(std::ceil(std::log2(std::max(most / 2, 1.0)))));
}

Cut cut_softmax(double width, double element, const FamilyWeights& weights) {
  Cut cut;
  if (width <= kWarpSoftmaxMax) {  // a warp keeps its row in registers
    cut.rows_per_block = kThreads / 32 * (width <= 128 ? 2 : 1);
    cut.block_cycles = constant(weights, VectorConstant::softmax_warp);
    cut.issue_cycles =
        constant(weights, VectorConstant::softmax_warp_issue) * std::ceil(width / kThreads) * cut.rows_per_block;
    return cut;
  }
  const double vector = kVectorBytes / element, threads = softmax_threads(width, vector);
  const double rest = std::fmod(width, threads * vector);
  cut.footprint.threads = static_cast<int>(threads);
  cut.rereads = 2;
  cut.block_cycles = constant(weights, VectorConstant::softmax_block) +
                     constant(weights, VectorConstant::softmax_vector_step) * std::floor(width / (threads * vector)) +
                     constant(weights, VectorConstant::softmax_scalar_step) * std::ceil(rest / threads);
  return cut;
}

Cut cut_norm(Op op, double width, const FamilyWeights& weights) {
  const double steps = std::ceil(width / (kThreads * kElementsPerThread)), warps = kThreads / 32;
  const double share = op == Op::rmsnorm ? kRmsShare : 1.0;
  Cut cut;
  cut.rereads = 1;
  cut.block_cycles =
      constant(weights, VectorConstant::norm_block) + constant(weights, VectorConstant::norm_step) * steps;
  cut.issue_cycles = share * constant(weights, VectorConstant::norm_issue) * steps * warps;
  return cut;
}

/// Warp schedulers per SM: four since Maxwell, but two in GP100 (NVIDIA P100 white paper).
double schedulers(const GpuSpec& gpu) {
  return gpu.matrix_unit == MatrixUnit::none && gpu.fp32_lanes_per_sm <= 64 ? 2 : 4;
}

double together(double a, double b, double c) {
  const double most = std::max({a, b, c});
  if (most <= 0) return 0;
  return most *
         std::pow(std::pow(a / most, kSharpness) + std::pow(b / most, kSharpness) + std::pow(c / most, kSharpness),
                  1 / kSharpness);
}

/// Bytes that L2 serves because the same call ran before.
double resident_share(Bytes bytes, const Device& device, const PredictContext& context) {
  if (context.residency == Residency::cold) return 0;
  return 1 - spilled_share(bytes, usable_l2(device.spec), kSetSpill);
}

Seconds stream_time(Bytes hbm, Bytes l2, double blocks, const Device& device) {
  const double busy = std::min(blocks, static_cast<double>(device.spec.sms));
  const double feeding = busy / device.spec.sms;
  return hbm / min(device.hbm, device.hbm_per_sm * busy) + l2 / (device.l2 * feeding);
}

KernelAnalysis analyse_elementwise(const Kernel& kernel, double elements, const Device& device,
                                   const PredictContext& context, const FamilyWeights& weights) {
  KernelAnalysis out;
  const Bytes bytes = traffic(kernel).total() * passes(kernel.op);
  const Bytes resident = bytes * resident_share(bytes, device, context);
  out.footprint.threads = static_cast<int>(kThreads);
  out.blocks = static_cast<std::int64_t>(std::ceil(elements / (kThreads * kElementsPerThread)));
  out.blocks_per_sm = occupancy(out.footprint, device.spec);
  out.hbm_bytes = bytes - resident;
  const double lanes = static_cast<double>(device.spec.sms) * device.spec.fp32_lanes_per_sm;
  const Seconds compute = elements * lane_cycles(kernel.op, weights) / (lanes * device.spec.boost_clock);
  const Seconds stream = stream_time(out.hbm_bytes, resident, static_cast<double>(out.blocks), device);
  out.base = Seconds(together(stream.value(), compute.value(), 0));
  return out;
}

KernelAnalysis analyse_rows(const Kernel& kernel, const VectorShape& shape, const Cut& cut, const Device& device,
                            const PredictContext& context) {
  KernelAnalysis out;
  const auto rows = static_cast<double>(shape.rows), width = static_cast<double>(shape.h);
  const double sms = device.spec.sms, blocks = std::ceil(rows / cut.rows_per_block);
  out.footprint = cut.footprint;
  out.blocks = static_cast<std::int64_t>(blocks);
  out.blocks_per_sm = occupancy(out.footprint, device.spec);

  const Bytes row = width * element_size(kernel.dtype);
  const double active = std::min(static_cast<double>(out.blocks_per_sm), std::ceil(blocks / sms));
  const Bytes in_flight = row * (std::min(blocks, sms * active) * cut.rows_per_block);
  const double spilled = spilled_share(in_flight, kRowShare * usable_l2(device.spec), kRowSpill);
  const Bytes once = traffic(kernel).total(), again = row * rows * cut.rereads;
  const double resident = resident_share(once, device, context);
  out.hbm_bytes = (once + again * spilled) * (1 - resident);
  const Bytes l2 = once + again - out.hbm_bytes;

  const double waves = blocks / (sms * out.blocks_per_sm);
  const double rounds = (waves + std::ceil(waves)) / 2;  // later waves start staggered
  const Seconds latency = rounds * cut.block_cycles / device.spec.boost_clock;
  const Seconds issue =
      std::ceil(blocks / sms) * cut.issue_cycles / (schedulers(device.spec) * device.spec.boost_clock);
  const Seconds stream = stream_time(out.hbm_bytes, l2, blocks, device);
  out.base = Seconds(together(stream.value(), latency.value(), issue.value()));
  return out;
}

double eager_floor(Op op, const FamilyWeights& weights) {
  return constant(weights, is_softmax(op) ? VectorConstant::eager_softmax
                           : is_norm(op)  ? VectorConstant::eager_norm
                                          : VectorConstant::eager_elementwise);
}

}  // namespace

KernelAnalysis analyse_vector(const Kernel& kernel, const Device& device, const PredictContext& context,
                              const FamilyWeights& weights) {
  const auto& shape = std::get<VectorShape>(kernel.shape);
  const auto rows = static_cast<double>(shape.rows), width = static_cast<double>(shape.h);
  const auto analysis = [&] {
    if (kernel.op == Op::softmax) {
      const double element = element_size(kernel.dtype).value();
      return analyse_rows(kernel, shape, cut_softmax(width, element, weights), device, context);
    }
    if (kernel.op == Op::layernorm || kernel.op == Op::rmsnorm) {
      return analyse_rows(kernel, shape, cut_norm(kernel.op, width, weights), device, context);
    }
    return analyse_elementwise(kernel, rows * width, device, context, weights);
  };
  KernelAnalysis out = analysis();
  out.executed = flops(kernel);
  out.floor = device.launch_floor;
  if (context.timing == Timing::eager) {
    out.floor += Seconds(eager_floor(kernel.op, weights));
    out.base = max(out.base, Seconds(constant(weights, VectorConstant::eager_hidden)));
  }
  return out;
}

}  // namespace tessera
