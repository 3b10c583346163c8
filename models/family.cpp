#include "models/family.hpp"

#include <algorithm>
#include <cmath>

#include "models/log_error.hpp"
#include "models/log_time.hpp"

namespace tessera {

namespace {

FamilyId gemm_family(const Kernel& kernel, const Device& device) {
  return device.on_matrix_unit(kernel.dtype) ? FamilyId::gemm_matrix : FamilyId::gemm_simt;
}

Estimate<Seconds> with_bar(double log_p50, const BarInputs& inputs, const Bar& bar) {
  const double scale = widened_scale(bar, inputs);
  return {Seconds(std::exp(log_p50 + scale * std::min(bar.p10, 0.0))), Seconds(std::exp(log_p50)),
          Seconds(std::exp(log_p50 + scale * std::max(bar.p90, 0.0)))};
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

BarInputs bar_inputs(const KernelAnalysis& analysis, double log_p50, const NetAnswer& net, Dtype dtype) {
  return {.floor_share = analysis.floor.value() / std::exp(log_p50),
          .spread = net.spread,
          .narrow = std::log2(2 / element_size(dtype).value()),
          .out_of_range = net.out_of_range};
}

KernelCost finish(const KernelAnalysis& analysis, const NetAnswer& net, const FamilyWeights& weights, const Bar& bar,
                  const Device& device, Dtype dtype) {
  KernelCost cost;
  const double log_p50 = log_time(std::log(analysis.base.value()), net.value, std::log(analysis.floor.value()));
  cost.time = with_bar(log_p50, bar_inputs(analysis, log_p50, net, dtype), bar);
  // What widens a kernel's bar is its own; what the GPU's kernels share stays.
  const double deviation = std::log(cost.time.p90 / cost.time.p10) / (2 * kHalfBand);
  if (deviation > 0) cost.shared_ratio = std::min(1.0, std::pow(bar.shared / deviation, 2));
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
  cost.out_of_range = net.out_of_range;
  cost.provenance = weights.left_out.empty() || !analysis.corrected ? Provenance::closed_form
                    : net.out_of_range > 0                          ? Provenance::extrapolated
                                                                    : Provenance::fitted;
  return cost;
}

}  // namespace tessera
