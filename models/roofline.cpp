// Work over the sustained rate, or compulsory bytes over device memory's: no tiles, nothing fitted.
#include <algorithm>

#include "models/family.hpp"
#include "models/models.hpp"
#include "models/occupancy.hpp"
#include "models/support.hpp"

namespace tessera {

namespace {

constexpr double kElementsPerBlock = 1024;

/// Wide: a roofline ignores tiles, launch and cache, and is 30 % off on average (NeuSight's operators).
constexpr Bar kRooflineBar{.log_scale = {}, .p10 = -0.3, .p90 = 0.6, .shared = 0.3, .own = 0.3};

class Roofline final : public LatencyModel {
 public:
  Roofline() {
    weights_.family = "roofline";
    weights_.unseen = kRooflineBar;
  }

  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext& context) const override {
    const Device device = derive_device(gpu);
    std::vector<KernelCost> costs;
    costs.reserve(kernels.size());
    for (const Kernel& kernel : kernels) {
      require_supported(kernel, gpu);
      costs.push_back(finish(analyse_roofline(kernel, device, context, weights_), {}, weights_, weights_.unseen, device,
                             kernel.dtype));
    }
    return costs;
  }

 private:
  FamilyWeights weights_;
};

}  // namespace

KernelAnalysis analyse_roofline(const Kernel& kernel, const Device& device, const PredictContext& /*context*/,
                                const FamilyWeights& /*weights*/) {
  KernelAnalysis analysis;
  analysis.executed = flops(kernel);
  analysis.hbm_bytes = traffic(kernel).total();
  const Seconds compute = analysis.executed / device.sustained_of(kernel.dtype);
  analysis.base = max(max(compute, analysis.hbm_bytes / device.hbm), Seconds(1e-9));
  analysis.floor = device.launch_floor;
  const double elements = analysis.hbm_bytes / element_size(kernel.dtype);
  analysis.blocks = std::max<std::int64_t>(1, static_cast<std::int64_t>(elements / kElementsPerBlock));
  analysis.blocks_per_sm = resident_blocks(device.spec, analysis.footprint);
  return analysis;
}

std::unique_ptr<LatencyModel> make_roofline(const std::filesystem::path& /*weights*/) {
  return std::make_unique<Roofline>();
}

}  // namespace tessera
