#include "models/calibrated_model.hpp"

#include <algorithm>
#include <cmath>

#include "models/log_error.hpp"

namespace tessera {

namespace {

void calibrate(KernelCost& cost, const FamilyOffset& offset) {
  const LogError before = log_error(cost);
  const double shared = std::min(offset.deviation, before.shared);
  const double prior = std::hypot(before.shared, before.own), posterior = std::hypot(shared, before.own);
  const double narrowing = prior > 0 ? posterior / prior : 1, factor = std::exp(offset.log_offset);
  const Seconds p50 = cost.time.p50 * factor;
  cost.time = {p50 * std::pow(cost.time.p10 / cost.time.p50, narrowing), p50,
               p50 * std::pow(cost.time.p90 / cost.time.p50, narrowing)};
  cost.energy *= factor;
  if (posterior > 0) cost.shared_ratio = shared * shared / (posterior * posterior);
  if (offset.rows > 0 && cost.provenance != Provenance::extrapolated) cost.provenance = Provenance::calibrated;
}

}  // namespace

std::vector<KernelCost> CalibratedModel::predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                 const PredictContext& context) const {
  std::vector<KernelCost> costs = base_.predict(kernels, gpu, context);
  const auto profile = std::ranges::find(profiles_, gpu.name, &Profile::gpu);
  if (profile == profiles_.end()) return costs;
  const Device device = derive_device(gpu);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const FamilyOffset* offset = profile->offset_of(family_of(kernels[i], device), kernels[i].dtype);
    if (offset != nullptr) calibrate(costs[i], *offset);
  }
  return costs;
}

}  // namespace tessera
