#include "sim/report/error_bar.hpp"

#include <cmath>

namespace tessera {
namespace {

/// Deviations of families, summed as partly correlated.
double combine(std::span<const double> deviations, double independent) {
  double squares = 0, sum = 0;
  for (const double d : deviations) {
    squares += d * d;
    sum += d;
  }
  return std::sqrt((1 - kCommonErrorShare) * squares + kCommonErrorShare * sum * sum + independent * independent);
}

}  // namespace

KernelFamily family_of(Op op) {
  switch (op) {
    case Op::gemm:
    case Op::linear:
    case Op::bmm:
    case Op::conv2d:
    case Op::conv2d_dgrad:
    case Op::conv2d_wgrad:
    case Op::moe:
      return KernelFamily::gemm;
    case Op::attention_prefill:
    case Op::attention_decode:
    case Op::attention_backward:
      return KernelFamily::attention;
    case Op::memory:
    case Op::optimizer:
    case Op::embedding:
    case Op::embedding_backward:
      return KernelFamily::memory;
    default:
      return KernelFamily::vector;
  }
}

FamilyTimes family_times(const Plan& plan, const CostTable& costs) {
  FamilyTimes times{};
  for (const Task& task : plan.tasks) {
    const auto* id = std::get_if<KernelId>(&task.work);
    if (id == nullptr) continue;
    const auto index = static_cast<std::size_t>(*id);
    auto& sum = times[static_cast<std::size_t>(family_of(plan.kernels[index].op))];
    sum.p10 += costs[index].time.p10;
    sum.p50 += costs[index].time.p50;
    sum.p90 += costs[index].time.p90;
  }
  return times;
}

Estimate<Seconds> step_error_bar(Seconds step, const FamilyTimes& families, Seconds compute,
                                 Seconds exposed_communication) {
  Seconds total;
  for (const auto& family : families) total += family.p50;
  const double scale = total > Seconds() ? compute / total : 0;
  std::array<double, kKernelFamilyCount> low{}, high{};
  for (std::size_t f = 0; f < kKernelFamilyCount; ++f) {
    low[f] = scale * (families[f].p50 - families[f].p10).value();
    high[f] = scale * (families[f].p90 - families[f].p50).value();
  }
  const double exposed = exposed_communication.value();
  return {step - Seconds(combine(low, kCommunicationLow * exposed)), step,
          step + Seconds(combine(high, kCommunicationHigh * exposed))};
}

}  // namespace tessera
