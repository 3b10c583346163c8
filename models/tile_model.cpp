// The default model: each kernel's family analyses it, the family's nets correct the closed form.
#include <algorithm>
#include <array>
#include <filesystem>

#include "models/family.hpp"
#include "models/models.hpp"
#include "models/support.hpp"
#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera {

namespace {

class TileModel final : public LatencyModel {
 public:
  explicit TileModel(const std::filesystem::path& folder) {
    for (const Family& family : families()) {
      const std::filesystem::path file = folder / (std::string(family.name) + ".json");
      weights_.push_back(std::filesystem::exists(file) ? read_family(file, family) : unfitted(family));
    }
  }

  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext& context) const override {
    const Device device = derive_device(gpu);
    std::vector<KernelCost> costs(kernels.size());
    std::vector<std::vector<std::size_t>> members(weights_.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      require_supported(kernels[i], gpu);
      members[static_cast<std::size_t>(family_of(kernels[i], device))].push_back(i);
    }
    for (std::size_t f = 0; f < members.size(); ++f) {
      if (!members[f].empty()) price(f, members[f], kernels, device, context, costs);
    }
    return costs;
  }

 private:
  static FamilyWeights read_family(const std::filesystem::path& file, const Family& family);

  void price(std::size_t f, const std::vector<std::size_t>& members, std::span<const Kernel> kernels,
             const Device& device, const PredictContext& context, std::vector<KernelCost>& costs) const {
    const Family& family = families()[f];
    const std::size_t width = family.inputs.size();
    std::vector<KernelAnalysis> analyses;
    std::vector<float> raw;
    analyses.reserve(members.size());
    raw.reserve(members.size() * width);
    for (std::size_t i : members) {
      analyses.push_back(family.analyse(kernels[i], device, context, weights_[f]));
      raw.insert(raw.end(), analyses.back().inputs.begin(),
                 analyses.back().inputs.begin() + static_cast<std::ptrdiff_t>(width));
    }
    std::vector<float> net(members.size()), outside(members.size());
    weights_[f].evaluate(raw, net, outside);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const bool corrected = analyses[i].corrected;
      costs[members[i]] = finish(analyses[i], corrected ? net[i] : 0, corrected ? outside[i] : 0, weights_[f], device,
                                 kernels[members[i]].dtype);
    }
  }

  std::vector<FamilyWeights> weights_;  // parallel to families()
};

FamilyWeights TileModel::read_family(const std::filesystem::path& file, const Family& family) {
  FamilyWeights weights = read_weights(file);
  const auto same_input = [](const InputRange& a, std::string_view b) { return a.name == b; };
  const auto same_constant = [](const auto& a, const NamedConstant& b) { return a.first == b.name; };
  if (!std::ranges::equal(weights.inputs, family.inputs, same_input) ||
      !std::ranges::equal(weights.constants, family.constants, same_constant)) {
    throw RunError(file.string() + ": fitted for other inputs than this program's; run tessera calibrate");
  }
  return weights;
}

}  // namespace

std::unique_ptr<LatencyModel> make_tile_model(const std::filesystem::path& weights) {
  return std::make_unique<TileModel>(weights.empty() ? home() / "calibration" / "weights" : weights);
}

}  // namespace tessera
