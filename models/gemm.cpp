// Matrix multiplications: closed form of the best candidate tile, and what the nets are told about it.
#include "models/gemm.hpp"

#include <algorithm>
#include <cmath>

#include "models/cache.hpp"
#include "models/gemm_tiles.hpp"
#include "models/stream.hpp"

namespace tessera {

namespace {

// How sharply a working set spills out of L2, as a power of its size; between LRU (a step) and random replacement (1).
// Weights in rotation come back in the order in which they went, which LRU serves worst.
constexpr double kSpill = 1.5, kRotatedSpill = 6;
// AIConfigurator's benchmark rotates five copies of the weights; under TensorRT-LLM no more than L2's size needs.
// vLLM's and SGLang's runs spill as if there were seven (L40S: 72 of 96 MiB).
constexpr int kRotatedCopies = 5, kRotatedCopiesVllm = 7;
constexpr double kQuantised = 2048;  // elements of a row that a block takes in one pass
constexpr double kMiddleFma = 1024;  // per clock and SM: of a matrix unit neither narrow nor wide
constexpr int kAlignment = 4;        // elements: vector loads of 16 bytes in fp32

/// The family's fitted constants, in the order of its row.
struct GemmNumbers {
  GemmConstants tiles;
  double l2_fill, floor, floor_cycles, eager_floor, quantise_share, quantise_floor, quantise_cycles;
};

GemmNumbers numbers_of(const FamilyWeights& weights) {
  const auto c = [&weights](std::size_t i) { return weights.constants[i].second; };
  return {{c(0), c(1), c(2), c(3), c(4), c(5), c(13), c(14)}, c(6), c(7), c(8), c(9), c(10), c(11), c(12)};
}

double rotated_copies(double weights, Bytes l2, Runtime runtime) {
  if (runtime == Runtime::trtllm) return std::min<double>(kRotatedCopies, std::ceil(l2 / Bytes(weights)));
  return runtime == Runtime::vllm || runtime == Runtime::sglang ? kRotatedCopiesVllm : kRotatedCopies;
}

/// Share of the traffic that L2 serves because the call was made before.
double hit_share(const GemmShape& shape, double element, const PredictContext& context, Bytes l2, Bytes capacity) {
  const auto batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m),
             n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  const double weights = batch * n * k * element, activations = batch * m * (n + k) * element;
  switch (context.residency) {
    case Residency::cold:
      return 0;
    case Residency::rotated:
      return 1 - spilled_share(Bytes(rotated_copies(weights, l2, context.runtime) * weights + activations), capacity,
                               kRotatedSpill);
    case Residency::warm:
      return 1 - spilled_share(Bytes(weights + activations), capacity, kSpill);
  }
  return 0;
}

float log_of(double x) {
  return static_cast<float>(std::log(x));
}

/// x / (x + half): sizes that saturate, so that no net extrapolates along them.
float share(double x, double half) {
  return static_cast<float>(x / (x + half));
}

/// fp8 and fp4 operands of 16-bit activations: runtimes quantise them in a kernel before the GEMM and do not split k.
/// Libraries called alone take such operands as they are.
bool quantises(Dtype dtype, Runtime runtime) {
  return (dtype == Dtype::fp8 || dtype == Dtype::nvfp4) && runtime != Runtime::cublaslt && runtime != Runtime::pytorch;
}

/// Bytes in and out, from L2 where an earlier call left them there, and for fp8's scale per row the cycles of a block
/// per row: a pass over every 2048 elements, half a pass to begin with.
Seconds quantise_time(const Kernel& kernel, const GemmShape& shape, const GemmNumbers& numbers, const Device& device,
                      const PredictContext& context) {
  const double rows = static_cast<double>(shape.batch * shape.m), k = static_cast<double>(shape.k);
  const Stream moved = stream_of(Bytes(rows * k * (2 + element_size(kernel.dtype).value())), device, context);
  const bool per_row = kernel.dtype == Dtype::fp8;
  const double passes = per_row ? 0.5 + std::ceil(k / kQuantised) : 0;
  const Seconds by_rows = rows / device.spec.sms * passes * numbers.quantise_cycles / device.spec.boost_clock;
  const Seconds by_bytes = hbm_time(moved, rows, device) + l2_time(moved, rows, device);
  return max(by_bytes / (per_row ? 1.0 : numbers.quantise_share), by_rows) + Seconds(numbers.quantise_floor);
}

void fill_inputs(const Kernel& kernel, const GemmShape& shape, const GemmPlan& plan, const Device& device,
                 Seconds quantise, KernelAnalysis& out) {
  const bool mfma = device.spec.matrix_unit == MatrixUnit::mfma;
  const double element = element_size(kernel.dtype).value();
  const double per_sm = static_cast<double>(plan.blocks) / device.spec.sms;
  const double rounds = std::ceil(per_sm);
  const auto work = flops(kernel);
  const double unaligned = (shape.n % kAlignment != 0 ? 0.5 : 0.0) + (shape.k % kAlignment != 0 ? 0.5 : 0.0);
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  out.inputs = {share(plan.compute / plan.memory, 1),
                static_cast<float>(1 / rounds),
                static_cast<float>(per_sm / rounds),
                static_cast<float>(work / plan.executed),
                share(m, 128),
                share(n, 128),
                share(k, 256),
                share(static_cast<double>(shape.batch) - 1, 4),
                log_of(plan.tile.m),
                log_of(plan.tile.n),
                static_cast<float>(1.0 / plan.split_k),
                share(plan.time / out.floor, 1),
                share(traffic(kernel).total() / usable_l2(device.spec), 1),
                static_cast<float>(unaligned),
                log_of(plan.blocks_per_sm),
                shape.batch == 1 ? 1.0F : 0.0F,
                mfma ? 0.0F : log_of(device.fma_per_clock(kernel.dtype) / kMiddleFma),
                mfma ? 1.0F : 0.0F,
                log_of(2 / element),
                static_cast<float>(quantise / (quantise + plan.time))};
}

KernelAnalysis analyse(const Kernel& kernel, const Device& device, const PredictContext& context,
                       const FamilyWeights& weights, MatrixUnit unit) {
  const auto& shape = std::get<GemmShape>(kernel.shape);
  const double element = element_size(kernel.dtype).value();
  const GemmNumbers numbers = numbers_of(weights);
  KernelAnalysis out;
  out.floor = context.timing == Timing::eager ? Seconds(numbers.eager_floor)
                                              : Seconds(numbers.floor) + numbers.floor_cycles / device.spec.boost_clock;
  const Bytes capacity = usable_l2(device.spec) * numbers.l2_fill;
  out.hbm_bytes = traffic(kernel).total() * (1 - hit_share(shape, element, context, device.spec.l2, capacity));
  const bool quantised = quantises(kernel.dtype, context.runtime);
  const GemmPlan plan =
      choose_gemm(shape,
                  {.rate = device.sustained_of(kernel.dtype),
                   .uncapped = device.uncapped_of(kernel.dtype),
                   .unit = unit,
                   .element = element,
                   .result = traffic(kernel).written.value() / static_cast<double>(shape.batch * shape.m * shape.n),
                   .split_k = !quantised,
                   .visited = quantised && unit == MatrixUnit::mma_sync,
                   .hbm_bytes = out.hbm_bytes,
                   .constants = numbers.tiles},
                  device);
  const Seconds quantise = quantised ? quantise_time(kernel, shape, numbers, device, context) : Seconds(0);
  out.base = plan.time + quantise;
  out.blocks = plan.blocks;
  out.blocks_per_sm = plan.blocks_per_sm;
  out.footprint = footprint(plan.tile);
  out.executed = plan.executed;
  fill_inputs(kernel, shape, plan, device, quantise, out);
  return out;
}

}  // namespace

KernelAnalysis analyse_gemm_simt(const Kernel& kernel, const Device& device, const PredictContext& context,
                                 const FamilyWeights& weights) {
  return analyse(kernel, device, context, weights, MatrixUnit::none);
}

KernelAnalysis analyse_gemm_matrix(const Kernel& kernel, const Device& device, const PredictContext& context,
                                   const FamilyWeights& weights) {
  return analyse(kernel, device, context, weights, device.spec.matrix_unit);
}

}  // namespace tessera
