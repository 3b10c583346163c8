// Convolutions as matrix multiplications: implicit GEMM (Chetlur et al., cuDNN, arXiv 1410.0759), or, for 3x3 kernels
// of stride 1 on fp32 lanes, Winograd F(4x4, 3x3) (Lavin and Gray, arXiv 1509.09308): 36 GEMMs between two transforms.
// Not modelled: FFT, fused Winograd, channels-last layouts, the blocks of grouped kernels.
#include "models/conv.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/gemm_tiles.hpp"
#include "models/occupancy.hpp"
#include "models/stream.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kWinogradTile = 4, kWinogradPoints = 36;

/// Of a strided convolution's image, every pixel meets one in stride^2 places of the window.
std::int64_t dgrad_depth(const ConvShape& s, std::int64_t c_out) {
  const std::int64_t strides = s.stride * (s.stride_w > 0 ? s.stride_w : s.stride);
  return std::max<std::int64_t>(1, c_out * s.window() / strides);
}

/// The convolution as one GEMM per group, by what is summed over.
GemmShape as_gemm(Op op, const ConvShape& s) {
  const std::int64_t out = s.batch * s.out_h() * s.out_w(), window = s.window();
  const std::int64_t c_in = s.c_in / s.groups, c_out = s.c_out / s.groups;
  switch (op) {
    case Op::conv2d_dgrad:
      return {.batch = s.groups, .m = s.batch * s.image * s.width(), .n = c_in, .k = dgrad_depth(s, c_out)};
    case Op::conv2d_wgrad:
      return {.batch = s.groups, .m = c_out, .n = c_in * window, .k = out};
    default:
      return {.batch = s.groups, .m = out, .n = c_out, .k = c_in * window};
  }
}

struct Way {
  GemmPlan gemm;
  Seconds time;
  Bytes hbm_bytes;
};

/// cuDNN's implicit GEMMs of images do not split what is summed over; those of weights do, it being the whole batch.
GemmPlan implicit_gemm(Op op, const GemmShape& shape, const GemmContext& context, const Device& device) {
  if (op == Op::conv2d_wgrad) return choose_gemm(shape, context, device);
  std::optional<GemmPlan> best;
  for (const GemmTile& tile : gemm_tiles(context.unit, device.spec, false)) {
    const GemmPlan plan = plan_gemm(shape, tile, 1, context, device);
    if (!best || plan.time < best->time) best = plan;
  }
  return *best;
}

Way winograd(const Kernel& kernel, const ConvShape& s, const GemmContext& direct, const Device& device,
             const PredictContext& context) {
  const auto tiles_along = [](std::int64_t out) { return (out + kWinogradTile - 1) / kWinogradTile; };
  const std::int64_t tiles = s.batch * tiles_along(s.out_h()) * tiles_along(s.out_w());
  const bool back = kernel.op == Op::conv2d_dgrad;
  const std::int64_t in = back ? s.c_out : s.c_in, out = back ? s.c_in : s.c_out;
  const GemmShape shape{.batch = kWinogradPoints, .m = tiles, .n = out, .k = in};
  const auto moved = static_cast<double>(kWinogradPoints * (tiles * (in + out) + in * out));
  const Bytes transformed(direct.element * moved);
  const Stream inner = stream_of(transformed, device, {context.timing, Residency::warm});
  GemmContext batched = direct;
  batched.hbm_bytes = inner.hbm;
  const GemmPlan plan = choose_gemm(shape, batched, device);
  const Bytes outer = direct.hbm_bytes + inner.hbm;
  return {plan, plan.time + outer / device.hbm + inner.l2 / device.l2, outer + inner.hbm};
}

bool suits_winograd(const Kernel& kernel, const ConvShape& s, const Device& device) {
  return !device.on_matrix_unit(kernel.dtype) && s.kernel == 3 && s.window_w() == 3 && s.stride == 1 && s.groups == 1 &&
         kernel.op != Op::conv2d_wgrad;
}

GemmContext direct_context(const Kernel& kernel, const Device& device, const PredictContext& context) {
  GemmContext direct;
  direct.rate = device.sustained_of(kernel.dtype);
  direct.unit = device.on_matrix_unit(kernel.dtype) ? device.spec.matrix_unit : MatrixUnit::none;
  direct.element = element_size(kernel.dtype).value();
  direct.hbm_bytes = stream_of(traffic(kernel).total(), device, context).hbm;
  return direct;
}

float log_of(double x) {
  return static_cast<float>(std::log(x));
}

void fill_inputs(const ConvShape& s, const GemmShape& shape, const Way& best, double winograd_over_direct,
                 const Device& device, KernelAnalysis& out) {
  const double rounds = std::ceil(static_cast<double>(best.gemm.blocks) / device.spec.sms);
  out.inputs = {log_of(winograd_over_direct),         log_of(best.gemm.memory / out.base),
                log_of(out.base / out.floor),         log_of(rounds),
                log_of(static_cast<double>(shape.m)), log_of(static_cast<double>(shape.n)),
                log_of(static_cast<double>(shape.k)), log_of(static_cast<double>(s.image)),
                log_of(static_cast<double>(s.batch))};
}

/// A channel apart: nothing to multiply matrices of. PyTorch's kernel has a thread per result and, for each
/// multiply-add, about four instructions (two loads, one for the index); an assumption, not measured here.
KernelAnalysis analyse_depthwise(const Kernel& kernel, const ConvShape& s, const Device& device,
                                 const PredictContext& context) {
  constexpr double kThreads = 256, kInstructions = 4;
  const double results = static_cast<double>(s.batch * s.c_out) * static_cast<double>(s.out_h() * s.out_w());
  const double lanes = static_cast<double>(device.spec.sms) * device.spec.fp32_lanes_per_sm;
  const double fma = flops(kernel).value() / 2;

  KernelAnalysis out;
  out.corrected = false;
  out.footprint.threads = static_cast<int>(kThreads);
  out.blocks = kernel.op == Op::conv2d_wgrad ? s.c_out : static_cast<std::int64_t>(std::ceil(results / kThreads));
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = flops(kernel);
  const Stream stream = stream_of(traffic(kernel).total(), device, context);
  out.hbm_bytes = stream.hbm;
  out.base = overlapped({hbm_time(stream, static_cast<double>(out.blocks), device),
                         l2_time(stream, static_cast<double>(out.blocks), device),
                         fma * kInstructions / (lanes * device.spec.boost_clock)});
  out.floor = context.timing == Timing::eager ? device.launch_floor + kEagerCall : device.launch_floor;
  return out;
}

}  // namespace

KernelAnalysis analyse_conv(const Kernel& kernel, const Device& device, const PredictContext& context,
                            const FamilyWeights& weights) {
  const auto& s = std::get<ConvShape>(kernel.shape);
  if (s.groups == s.c_in && s.groups > 1) return analyse_depthwise(kernel, s, device, context);
  const GemmShape shape = as_gemm(kernel.op, s);
  const GemmContext direct = direct_context(kernel, device, context);
  const GemmPlan plain = implicit_gemm(kernel.op, shape, direct, device);
  Way best{plain, plain.time, direct.hbm_bytes};
  double winograd_over_direct = 1;
  const bool measured = suits_winograd(kernel, s, device);
  if (measured) {
    const Way way = winograd(kernel, s, direct, device, context);
    winograd_over_direct = way.time / plain.time;
    if (way.time < best.time) best = way;
  }

  KernelAnalysis out;
  out.base = best.time;
  out.corrected = measured;
  out.floor = Seconds(weights.constants[0].second);
  if (context.timing == Timing::eager) out.floor += Seconds(weights.constants[1].second);
  out.blocks = best.gemm.blocks;
  out.blocks_per_sm = best.gemm.blocks_per_sm;
  out.footprint = footprint(best.gemm.tile);
  out.executed = best.gemm.executed;
  out.hbm_bytes = best.hbm_bytes;
  fill_inputs(s, shape, best, winograd_over_direct, device, out);
  return out;
}

}  // namespace tessera
