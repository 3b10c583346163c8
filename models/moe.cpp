// A mixture-of-experts layer as two grouped GEMMs over the experts that some token picks, picks being uniform, and the
// movement of tokens between them. Not modelled: skewed routing, whose busiest expert decides.
#include "models/moe.hpp"

#include <algorithm>
#include <cmath>

#include "models/gemm_tiles.hpp"
#include "models/stream.hpp"

namespace tessera {

namespace {

float log_of(double x) {
  return static_cast<float>(std::log(x));
}

double active_experts(const MoeShape& s) {
  const auto experts = static_cast<double>(s.experts);
  const double idle = std::pow(1 - static_cast<double>(s.topk) / experts, static_cast<double>(s.tokens));
  return std::max(1.0, std::round(experts * (1 - idle)));
}

}  // namespace

KernelAnalysis analyse_moe(const Kernel& kernel, const Device& device, const PredictContext& context,
                           const FamilyWeights& weights) {
  const auto& s = std::get<MoeShape>(kernel.shape);
  const bool matrix = device.on_matrix_unit(kernel.dtype);
  const double experts = active_experts(s), element = element_size(kernel.dtype).value();
  const auto picks = static_cast<double>(s.tokens * s.topk);
  const double rows = std::ceil(picks / experts);
  const auto hidden = static_cast<double>(s.hidden), inter = static_cast<double>(s.inter);
  const double up = s.gated ? 2 : 1;
  const auto run = [&](double n, double k) {
    const GemmShape shape{.batch = static_cast<std::int64_t>(experts),
                          .m = static_cast<std::int64_t>(rows),
                          .n = static_cast<std::int64_t>(n),
                          .k = static_cast<std::int64_t>(k)};
    GemmContext gemm;
    gemm.rate = device.sustained_of(kernel.dtype);
    gemm.unit = matrix ? device.spec.matrix_unit : MatrixUnit::none;
    gemm.element = element;
    gemm.hbm_bytes = Bytes(element * (experts * n * k + picks * (n + k)));
    return choose_gemm(shape, gemm, device);
  };
  const GemmPlan first = run(up * inter, hidden), second = run(hidden, inter);
  // Tokens are copied to their experts' rows and summed from them; the activation reads and writes the middle.
  const Bytes shuffled(element * picks * (2 * hidden + 2 * hidden + (up + 1) * inter));

  KernelAnalysis out;
  out.hbm_bytes = traffic(kernel).total() + shuffled;
  out.base = first.time + second.time + shuffled / device.hbm;
  out.floor = Seconds(weights.constants[0].second) + (context.timing == Timing::eager ? kEagerCall : Seconds(0));
  out.blocks = first.blocks + second.blocks;
  out.blocks_per_sm = first.blocks_per_sm;
  out.footprint = footprint(first.tile);
  out.executed = first.executed + second.executed;
  out.inputs = {log_of((first.memory + second.memory) / out.base),
                log_of(out.base / out.floor),
                log_of(std::ceil(static_cast<double>(first.blocks) / device.spec.sms)),
                log_of(rows),
                log_of(experts),
                log_of(hidden),
                log_of(inter),
                log_of(static_cast<double>(s.topk)),
                s.gated ? 1.0F : 0.0F};
  return out;
}

}  // namespace tessera
