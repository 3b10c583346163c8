// Softmax and norms: bytes over reachable bandwidth, and what keeps a kernel from it: rows that spill from L2 between
// passes, the latency of a block's dependent steps, instruction issue.
#include <algorithm>
#include <cmath>

#include "models/cache.hpp"
#include "models/occupancy.hpp"
#include "models/stream.hpp"
#include "models/vector.hpp"

namespace tessera {

namespace {

// PyTorch 2.1's launch shapes (aten, cuda: PersistentSoftmax.cuh, SoftMax.cu, layer_norm_kernel.cu).
constexpr double kThreads = 128, kElementsPerThread = 4, kVectorBytes = 16;
constexpr double kWarpSoftmaxMax = 1024;  // longer rows take a block each and three passes
constexpr double kSoftmaxThreadsMax = 1024;
// AMD's rows ran PyTorch 2.4, whose softmax keeps an aligned row in shared memory; NVIDIA's 2.1.
constexpr int kWideWarp = 64;

// Rows in flight spill where they fill this share of L2, and how sharply.
constexpr double kRowShare = 0.95, kRowSpill = 5;
// rmsnorm is no operator of PyTorch: serving runtimes' own kernel, a block per row, a thread per element and step,
// which waits for device memory and, in the second pass, for L2 (700 and 270 ns of an A100, in its clocks).
constexpr double kRmsThreadsMax = 1024, kRmsStepCycles = 1400, kRmsBlockCycles = 1000;

/// How a row-wise kernel is cut.
struct Cut {
  BlockFootprint footprint;
  double rows_per_block = 1;
  double rereads = 0;       // of each input element
  double block_cycles = 0;  // from start to end of a block, alone
  double issue_cycles = 0;  // of all schedulers of an SM together, per block
};

double constant(const FamilyWeights& weights, RowsConstant which) {
  return weights.constants[static_cast<std::size_t>(which)].second;
}

/// Smallest power of two that is at least half of what the row could use (SoftMax_getBlockSize).
double softmax_threads(double width, double vector) {
  const double most = std::min(std::floor(width / vector), kSoftmaxThreadsMax);
  return std::max(32.0, std::exp2(std::ceil(std::log2(std::max(most / 2, 1.0)))));
}

Cut cut_softmax(double width, double element, const GpuSpec& gpu, const FamilyWeights& weights) {
  Cut cut;
  if (width <= kWarpSoftmaxMax) {  // a warp keeps its row in registers
    cut.rows_per_block = kThreads / 32 * (width <= 128 ? 2 : 1);
    cut.block_cycles = constant(weights, RowsConstant::softmax_warp);
    cut.issue_cycles =
        constant(weights, RowsConstant::softmax_warp_issue) * std::ceil(width / kThreads) * cut.rows_per_block;
    return cut;
  }
  const double vector = kVectorBytes / element, threads = softmax_threads(width, vector);
  const double rest = std::fmod(width, threads * vector);
  cut.footprint.threads = static_cast<int>(threads);
  const bool kept = gpu.warp_size == kWideWarp && std::fmod(width, vector) == 0;
  cut.rereads = kept ? 0 : 2;
  cut.block_cycles = constant(weights, RowsConstant::softmax_block) +
                     constant(weights, RowsConstant::softmax_vector_step) * std::floor(width / (threads * vector)) +
                     constant(weights, RowsConstant::softmax_scalar_step) * std::ceil(rest / threads);
  return cut;
}

Cut cut_rmsnorm(double width) {
  const double threads = std::min(std::ceil(width / 32) * 32, kRmsThreadsMax);
  Cut cut;
  cut.footprint.threads = static_cast<int>(threads);
  cut.rereads = 1;
  cut.block_cycles = kRmsBlockCycles + kRmsStepCycles * std::ceil(width / threads);
  return cut;
}

Cut cut_layernorm(double width, const FamilyWeights& weights) {
  const double steps = std::ceil(width / (kThreads * kElementsPerThread)), warps = kThreads / 32;
  Cut cut;
  cut.rereads = 1;
  cut.block_cycles = constant(weights, RowsConstant::norm_block) + constant(weights, RowsConstant::norm_step) * steps;
  cut.issue_cycles =
      (constant(weights, RowsConstant::norm_fixed_issue) + constant(weights, RowsConstant::norm_issue) * steps) * warps;
  return cut;
}

/// Warps of 32 that an SM starts an instruction of in a clock: four since Volta; two in GP100 (NVIDIA P100 white
/// paper), and P4's four take as many clocks for a row; AMD's four units take four clocks for 64 lanes.
double schedulers(const GpuSpec& gpu) {
  return gpu.warp_size == kWideWarp || gpu.matrix_unit == MatrixUnit::none ? 2 : 4;
}

Seconds eager_call(bool softmax, const GpuSpec& gpu, const FamilyWeights& weights) {
  const double host = constant(weights, softmax ? RowsConstant::eager_softmax : RowsConstant::eager_norm);
  return Seconds(gpu.warp_size == kWideWarp ? host * constant(weights, RowsConstant::eager_wave64) : host);
}

/// Bytes with the later passes: these find a row in L2 unless the rows in flight spill.
Stream row_stream(const Kernel& kernel, const VectorShape& shape, const Cut& cut, double blocks_at_once,
                  const Device& device, const PredictContext& context) {
  const Bytes row = static_cast<double>(shape.h) * element_size(kernel.dtype);
  const Bytes again = row * (static_cast<double>(shape.rows) * cut.rereads);
  const Bytes in_flight = row * (blocks_at_once * cut.rows_per_block);
  const double spilled = spilled_share(in_flight, kRowShare * usable_l2(device.spec), kRowSpill);
  Stream stream = stream_of(traffic(kernel).total(), device, context);
  const double cold = stream.hbm / (stream.hbm + stream.l2);
  stream.hbm += again * (spilled * cold);
  stream.l2 += again * (1 - spilled * cold);
  return stream;
}

}  // namespace

KernelAnalysis analyse_rows(const Kernel& kernel, const Device& device, const PredictContext& context,
                            const FamilyWeights& weights) {
  const auto& shape = std::get<VectorShape>(kernel.shape);
  const auto rows = static_cast<double>(shape.rows), width = static_cast<double>(shape.h);
  const bool softmax = kernel.op == Op::softmax;
  const Cut cut = softmax ? cut_softmax(width, element_size(kernel.dtype).value(), device.spec, weights)
                  : kernel.op == Op::rmsnorm ? cut_rmsnorm(width)
                                             : cut_layernorm(width, weights);
  const double sms = device.spec.sms, blocks = std::ceil(rows / cut.rows_per_block);

  KernelAnalysis out;
  out.footprint = cut.footprint;
  out.blocks = static_cast<std::int64_t>(blocks);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = flops(kernel);
  const Stream stream = row_stream(kernel, shape, cut, std::min(blocks, sms * out.blocks_per_sm), device, context);
  out.hbm_bytes = stream.hbm;
  const double waves = blocks / (sms * out.blocks_per_sm);
  const double rounds = (waves + std::ceil(waves)) / 2;  // later waves start staggered
  const double slower = device.spec.warp_size == kWideWarp ? constant(weights, RowsConstant::wave64_latency) : 1.0;
  const Seconds latency = rounds * cut.block_cycles * slower / device.spec.boost_clock;
  const Seconds issue =
      std::ceil(blocks / sms) * cut.issue_cycles / (schedulers(device.spec) * device.spec.boost_clock);
  out.base = overlapped({hbm_time(stream, blocks, device), l2_time(stream, blocks, device), latency, issue});
  out.floor = device.launch_floor;
  if (context.timing == Timing::eager) {
    out.floor += eager_call(softmax, device.spec, weights);
    out.base = max(out.base, Seconds(constant(weights, RowsConstant::eager_hidden)));
  }
  return out;
}

}  // namespace tessera
