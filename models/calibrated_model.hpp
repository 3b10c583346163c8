// A latency model shifted by a profile: predictions of its GPU move by the measured offset and their bars narrow.
#pragma once

#include <span>
#include <vector>

#include "models/latency_model.hpp"
#include "models/profile.hpp"

namespace tessera {

/// time x e^offset of the kernel's family and dtype. The bar's variance is v = shared + own (KernelCost::shared_ratio);
/// the shared part becomes the offset's remaining variance, where that is less. GPUs without a profile: as `base`.
/// Not modelled: offsets that depend on the shape; correlation between what two offsets leave open.
class CalibratedModel final : public LatencyModel {
 public:
  /// `base` outlives it. At most one profile per GPU counts: the first.
  CalibratedModel(const LatencyModel& base, std::vector<Profile> profiles)
      : base_(base), profiles_(std::move(profiles)) {}

  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext& context) const override;

 private:
  const LatencyModel& base_;
  std::vector<Profile> profiles_;
};

}  // namespace tessera
