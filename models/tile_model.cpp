// The default model: each kernel's family analyses it, the family's nets correct the closed form.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "models/family.hpp"
#include "models/models.hpp"
#include "models/support.hpp"
#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera {

namespace {

// How far outside the fitted range, in its widths, a dtype counts that no measured row has.
constexpr float kUnmeasuredDtype = 1;

class TileModel final : public LatencyModel {
 public:
  /// A folder may hold some families alone (`calibrate --family`); the others cannot be priced then.
  explicit TileModel(std::filesystem::path folder) : folder_(std::move(folder)) {
    if (!std::filesystem::is_directory(folder_))
      throw InputError(Diagnostic{.file = folder_.string(), .message = "no such folder of fitted weights"});
    for (const Family& family : families()) {
      const bool fitted = std::filesystem::exists(file_of(family));
      weights_.push_back(fitted ? std::optional(read_family(file_of(family), family)) : std::nullopt);
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

  [[nodiscard]] std::filesystem::path file_of(const Family& family) const {
    return folder_ / (std::string(family.name) + ".json");
  }

  [[nodiscard]] const FamilyWeights& need_weights(std::size_t f) const {
    if (weights_[f]) return *weights_[f];
    throw InputError(Diagnostic{.file = file_of(families()[f]).string(),
                                .message = fmt::format("no such file of fitted weights, needed for {}; `tessera "
                                                       "calibrate` makes it",
                                                       families()[f].what)});
  }

  void price(std::size_t f, const std::vector<std::size_t>& members, std::span<const Kernel> kernels,
             const Device& device, const PredictContext& context, std::vector<KernelCost>& costs) const {
    const Family& family = families()[f];
    const FamilyWeights& weights = need_weights(f);
    const std::size_t width = family.inputs.size();
    std::vector<KernelAnalysis> analyses;
    std::vector<float> raw;
    analyses.reserve(members.size());
    raw.reserve(members.size() * width);
    for (std::size_t i : members) {
      analyses.push_back(family.analyse(kernels[i], device, context, weights));
      raw.insert(raw.end(), analyses.back().inputs.begin(),
                 analyses.back().inputs.begin() + static_cast<std::ptrdiff_t>(width));
    }
    std::vector<float> net(members.size()), outside(members.size());
    weights.evaluate(raw, std::vector(members.size(), context.runtime), net, outside);
    const bool other_runtime = context.runtime != Runtime::unspecified && !weights.knows(context.runtime);
    const auto measured = weights.measured_dtypes();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const bool corrected = analyses[i].corrected;
      const Dtype dtype = kernels[members[i]].dtype;
      // Nets carry a dtype's rate; where there are none, a dtype is no more than its bytes.
      if (!weights.nets.empty() && !measured[static_cast<std::size_t>(dtype)]) {
        outside[i] = std::max(outside[i], kUnmeasuredDtype);
      }
      costs[members[i]] =
          finish(analyses[i], corrected ? net[i] : 0, corrected ? outside[i] : 0, weights, device, dtype);
      Provenance& provenance = costs[members[i]].provenance;
      if (other_runtime && provenance == Provenance::fitted) provenance = Provenance::typical;
    }
  }

  std::filesystem::path folder_;
  std::vector<std::optional<FamilyWeights>> weights_;  // parallel to families(); empty: not in the folder
};

FamilyWeights TileModel::read_family(const std::filesystem::path& file, const Family& family) {
  FamilyWeights weights = read_weights(file);
  const auto same_input = [](const InputRange& a, std::string_view b) { return a.name == b; };
  const auto same_constant = [](const auto& a, const NamedConstant& b) { return a.first == b.name; };
  if (!std::ranges::equal(weights.inputs, family.inputs, same_input) ||
      !std::ranges::equal(weights.constants, family.constants, same_constant)) {
    throw InputError(Diagnostic{.file = file.string(),
                                .message = "fitted for other inputs than this program's; run tessera calibrate"});
  }
  if (weights.nets.empty() && !family.inputs.empty())
    throw InputError(Diagnostic{.file = file.string(), .message = "no nets; run tessera calibrate"});
  return weights;
}

}  // namespace

std::unique_ptr<LatencyModel> make_tile_model(const std::filesystem::path& weights) {
  return std::make_unique<TileModel>(weights.empty() ? home() / "calibration" / "weights" : weights);
}

}  // namespace tessera
