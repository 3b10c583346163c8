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

/// A layer by its grouped GEMMs.
struct Groups {
  double experts = 1, picks = 1, rows = 1;  // active experts, token-expert pairs, of these per expert
  GemmPlan up, down;
};

GemmPlan grouped_gemm(const Groups& groups, double n, double k, Dtype dtype, const Device& device) {
  GemmContext context;
  context.rate = device.sustained_of(dtype);
  context.unit = device.on_matrix_unit(dtype) ? device.spec.matrix_unit : MatrixUnit::none;
  context.element = element_size(dtype).value();
  context.hbm_bytes = Bytes(context.element * (groups.experts * n * k + groups.picks * (n + k)));
  const GemmShape shape{.batch = static_cast<std::int64_t>(groups.experts),
                        .m = static_cast<std::int64_t>(groups.rows),
                        .n = static_cast<std::int64_t>(n),
                        .k = static_cast<std::int64_t>(k)};
  return choose_gemm(shape, context, device);
}

Groups group(const MoeShape& s, Dtype dtype, const Device& device) {
  const auto hidden = static_cast<double>(s.hidden), inter = static_cast<double>(s.inter);
  Groups groups;
  groups.experts = active_experts(s);
  groups.picks = static_cast<double>(s.tokens * s.topk);
  groups.rows = std::ceil(groups.picks / groups.experts);
  groups.up = grouped_gemm(groups, (s.gated ? 2 : 1) * inter, hidden, dtype, device);
  groups.down = grouped_gemm(groups, hidden, inter, dtype, device);
  return groups;
}

/// Tokens are copied to their experts' rows and summed from them; the activation reads and writes the middle.
Bytes shuffled_bytes(const MoeShape& s, double picks, Dtype dtype) {
  const auto hidden = static_cast<double>(s.hidden), inter = static_cast<double>(s.inter);
  return picks * (4 * hidden + (s.gated ? 3 : 2) * inter) * element_size(dtype);
}

}  // namespace

KernelAnalysis analyse_moe(const Kernel& kernel, const Device& device, const PredictContext& context,
                           const FamilyWeights& weights) {
  const auto& s = std::get<MoeShape>(kernel.shape);
  const Groups groups = group(s, kernel.dtype, device);
  const Bytes shuffled = shuffled_bytes(s, groups.picks, kernel.dtype);

  KernelAnalysis out;
  out.hbm_bytes = traffic(kernel).total() + shuffled;
  const auto of = [&](MoeConstant which) { return weights.constants[static_cast<std::size_t>(which)].second; };
  out.base = (groups.up.time + groups.down.time) / of(MoeConstant::grouped_share) +
             shuffled / device.hbm * of(MoeConstant::shuffles);
  out.floor = Seconds(of(MoeConstant::floor)) + of(MoeConstant::floor_cycles) / device.spec.boost_clock +
              (context.timing == Timing::eager ? kEagerCall : Seconds(0));
  out.blocks = groups.up.blocks + groups.down.blocks;
  out.blocks_per_sm = groups.up.blocks_per_sm;
  out.footprint = footprint(groups.up.tile);
  out.executed = groups.up.executed + groups.down.executed;
  out.inputs = {log_of((groups.up.memory + groups.down.memory) / out.base),
                log_of(out.base / out.floor),
                log_of(std::ceil(static_cast<double>(groups.up.blocks) / device.spec.sms)),
                log_of(groups.rows),
                log_of(groups.experts),
                log_of(static_cast<double>(s.hidden)),
                log_of(static_cast<double>(s.inter)),
                log_of(static_cast<double>(s.topk)),
                s.gated ? 1.0F : 0.0F};
  return out;
}

}  // namespace tessera
