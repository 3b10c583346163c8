#include "models/family.hpp"

#include <algorithm>
#include <cmath>

#include "models/log_error.hpp"
#include "models/log_time.hpp"
#include "models/shared_error.hpp"

namespace tessera {

namespace {

// Fraction by which an error bar widens per width of the fitted range outside it.
constexpr double kWidening = 1.0;
constexpr double kWidest = 4.0;  // far outside, a wider bar says nothing more

FamilyId gemm_family(const Kernel& kernel, const Device& device) {
  return device.on_matrix_unit(kernel.dtype) ? FamilyId::gemm_matrix : FamilyId::gemm_simt;
}

Estimate<Seconds> with_bar(double log_p50, double log_floor, double out_of_range, const FamilyWeights& weights) {
  const bool small = log_p50 < log_floor + std::log(kSmallRatio);
  const Residuals& residuals = small ? weights.small : weights.large;
  const double widen = std::min(1 + kWidening * out_of_range, kWidest);
  return {Seconds(std::exp(log_p50 + widen * std::min(residuals.p10, 0.0))), Seconds(std::exp(log_p50)),
          Seconds(std::exp(log_p50 + widen * std::max(residuals.p90, 0.0)))};
}

}  // namespace

FamilyId family_of(const Kernel& kernel, const Device& device) {
  switch (kernel.op) {
    case Op::gemm:
    case Op::linear:
    case Op::bmm:
      return gemm_family(kernel, device);
    case Op::conv2d:
    case Op::conv2d_dgrad:
    case Op::conv2d_wgrad:
      return FamilyId::conv;
    case Op::attention_prefill:
    case Op::attention_backward:
      return FamilyId::prefill;
    case Op::attention_decode:
      return FamilyId::decode;
    case Op::moe:
      return FamilyId::moe;
    case Op::mla_prefill:
      return FamilyId::mla_prefill;
    case Op::mla_decode:
      return FamilyId::mla_decode;
    case Op::softmax:
    case Op::layernorm:
    case Op::rmsnorm:
      return FamilyId::rows;
    case Op::embedding:
    case Op::embedding_backward:
    case Op::memory:
    case Op::optimizer:
      return FamilyId::memory;
    default:
      return FamilyId::vector;
  }
}

FamilyWeights unfitted(const Family& family) {
  FamilyWeights weights;
  weights.family = family.name;
  for (const NamedConstant& constant : family.constants) {
    weights.constants.emplace_back(constant.name, constant.value);
  }
  return weights;
}

KernelCost finish(const KernelAnalysis& analysis, double net, double out_of_range, const FamilyWeights& weights,
                  const Device& device, Dtype dtype) {
  KernelCost cost;
  const double log_floor = std::log(analysis.floor.value());
  const double log_p50 = log_time(std::log(analysis.base.value()), net, log_floor);
  cost.time = with_bar(log_p50, log_floor, out_of_range, weights);
  // Of the bar as it was measured: widening for what lies outside the fitted range is the kernel's own.
  const double deviation = std::log(cost.time.p90 / cost.time.p10) / (2 * kHalfBand);
  if (!weights.left_out.empty() && deviation > 0)
    cost.shared_ratio = std::min(1.0, std::pow(shared_deviation(weights) / deviation, 2));
  // Nothing computes faster than the data sheet's peak, however far a net has to extrapolate.
  const FlopsPerSec peak = device.spec.peak_of(dtype);
  const Seconds fastest = peak.value() > 0 ? analysis.executed / peak : Seconds();
  cost.time = {max(cost.time.p10, fastest), max(cost.time.p50, fastest), max(cost.time.p90, fastest)};
  cost.blocks = analysis.blocks;
  cost.blocks_per_sm = analysis.blocks_per_sm;
  const std::int64_t at_once = std::int64_t{device.spec.sms} * analysis.blocks_per_sm;
  cost.waves = (analysis.blocks + at_once - 1) / at_once;
  cost.footprint = analysis.footprint;
  cost.hbm_bytes = analysis.hbm_bytes;
  const Joules energy = device.idle * cost.time.p50 + device.energy_per_byte * analysis.hbm_bytes +
                        device.energy_per_flop[static_cast<std::size_t>(dtype)] * analysis.executed;
  cost.energy = min(energy, device.spec.power_cap * cost.time.p50);
  cost.out_of_range = out_of_range;
  cost.provenance = weights.left_out.empty() || !analysis.corrected ? Provenance::closed_form
                    : out_of_range > 0                              ? Provenance::extrapolated
                                                                    : Provenance::fitted;
  return cost;
}

}  // namespace tessera
