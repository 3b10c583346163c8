#include "sim/report/error_bar.hpp"

#include <algorithm>
#include <cmath>

#include "models/shared_error.hpp"

namespace tessera {
namespace {

std::vector<double> calls_of(const Plan& plan, const std::function<bool(const Task&)>& counts) {
  std::vector<double> calls(plan.kernels.size());
  for (const Task& task : plan.tasks) {
    const auto* id = std::get_if<KernelId>(&task.work);
    if (id != nullptr && (!counts || counts(task))) ++calls[static_cast<std::size_t>(*id)];
  }
  return calls;
}

void add(SideErrors& side, std::size_t family, Seconds distance, double shared_ratio) {
  side.shared[family] += std::sqrt(shared_ratio) * distance.value();
  side.own_squares += (1 - shared_ratio) * distance.value() * distance.value();
}

/// Variance of one side, at the scale of the kernels' sum.
double variance(const SideErrors& side) {
  double sum = side.own_squares;
  for (std::size_t f = 0; f < side.shared.size(); ++f)
    for (std::size_t g = 0; g < side.shared.size(); ++g)
      sum += error_correlation(static_cast<FamilyId>(f), static_cast<FamilyId>(g)) * side.shared[f] * side.shared[g];
  return sum;
}

}  // namespace

KernelErrors kernel_errors(const Plan& plan, const CostTable& costs, const GpuSpec& gpu,
                           const std::function<bool(const Task&)>& counts) {
  const std::vector<double> calls = calls_of(plan, counts);
  const Device device = derive_device(gpu);
  KernelErrors errors;
  errors.low.shared.resize(families().size());
  errors.high.shared.resize(families().size());
  for (std::size_t k = 0; k < calls.size(); ++k) {
    if (calls[k] == 0) continue;
    const Estimate<Seconds>& time = costs[k].time;
    const auto family = static_cast<std::size_t>(family_of(plan.kernels[k], device));
    const double ratio = std::clamp(costs[k].shared_ratio, 0.0, 1.0);
    add(errors.low, family, calls[k] * (time.p50 - time.p10), ratio);
    add(errors.high, family, calls[k] * (time.p90 - time.p50), ratio);
    errors.total += calls[k] * time.p50;
  }
  return errors;
}

Estimate<Seconds> step_error_bar(Seconds time, const KernelErrors& kernels, Seconds compute,
                                 Seconds exposed_communication) {
  const double scale = kernels.total > Seconds() ? compute / kernels.total : 0;
  const double exposed = exposed_communication.value();
  const Seconds low(std::hypot(scale * std::sqrt(variance(kernels.low)), kCommunicationLow * exposed));
  const Seconds high(std::hypot(scale * std::sqrt(variance(kernels.high)), kCommunicationHigh * exposed));
  return {max(Seconds(), time - low), time, time + high};
}

}  // namespace tessera
