// The default model: each kernel's family analyses it, the family's nets correct the closed form.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "models/family.hpp"
#include "models/models.hpp"
#include "models/support.hpp"
#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera {

namespace {

// A GPU by another name is the measured one where its data sheet says the same, but for rounding.
constexpr double kSameSheet = 0.02;

bool close_to(double a, double b) {
  return std::abs(a - b) <= kSameSheet * std::max(std::abs(a), std::abs(b));
}

bool same_sheet(const GpuSpec& a, const GpuSpec& b) {
  const auto same_peak = [&](Dtype dtype) { return close_to(a.peak_of(dtype).value(), b.peak_of(dtype).value()); };
  return a.sms == b.sms && a.matrix_unit == b.matrix_unit && std::ranges::all_of(kDtypes, same_peak) &&
         close_to(a.boost_clock.value(), b.boost_clock.value()) && close_to(a.l2.value(), b.l2.value()) &&
         close_to(a.memory_bandwidth.value(), b.memory_bandwidth.value()) &&
         close_to(a.power_cap.value(), b.power_cap.value());
}

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
    find_measured();
  }

  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext& context) const override {
    const Device device = derive_device(gpu);
    std::vector<KernelCost> costs(kernels.size());
    const std::string measured_as = measured_name(gpu);
    // By whether the family has seen such rows of the GPU.
    std::array<std::vector<std::vector<std::size_t>>, 2> members;
    members.fill(std::vector<std::vector<std::size_t>>(weights_.size()));
    std::map<std::pair<Op, Dtype>, bool> seen;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      require_supported(kernels[i], gpu);
      const auto f = static_cast<std::size_t>(family_of(kernels[i], device));
      const auto [known, first] = seen.try_emplace({kernels[i].op, kernels[i].dtype});
      if (first) known->second = need_weights(f).has_seen(measured_as, kernels[i].op, kernels[i].dtype);
      members[known->second ? 1 : 0][f].push_back(i);
    }
    for (const bool is_seen : {false, true}) {
      for (std::size_t f = 0; f < weights_.size(); ++f) {
        const auto& own = members[is_seen ? 1 : 0][f];
        if (own.empty()) continue;
        const bool fastest = families()[f].fastest_runtime && need_weights(f).runtime_inputs() > 0 &&
                             !need_weights(f).knows(context.runtime);
        (this->*(fastest ? &TileModel::price_fastest : &TileModel::price))(f, is_seen, own, kernels, device, context,
                                                                           costs);
      }
    }
    return costs;
  }

 private:
  static FamilyWeights read_family(const std::filesystem::path& file, const Family& family);

  [[nodiscard]] std::filesystem::path file_of(const Family& family) const {
    return folder_ / (std::string(family.name) + ".json");
  }

  /// The measured GPU with this data sheet; empty: none.
  [[nodiscard]] std::string measured_name(const GpuSpec& gpu) const {
    const auto same = [&](const GpuSpec& other) { return same_sheet(gpu, other); };
    const auto found = std::ranges::find_if(measured_, same);
    return found == measured_.end() ? "" : found->name;
  }

  /// Data sheets of the GPUs whose shapes were held out (protocol S).
  void find_measured() {
    const std::vector<std::string> known = known_gpus();
    std::set<std::string> names;
    for (const auto& weights : weights_) {
      if (!weights) continue;
      for (const LeftOut& row : weights->left_out) {
        if (row.protocol == Protocol::S) names.insert(row.gpu);
      }
    }
    for (const std::string& name : names) {
      if (std::ranges::find(known, name) != known.end()) measured_.push_back(find_gpu(name));
    }
  }

  [[nodiscard]] const FamilyWeights& need_weights(std::size_t f) const {
    if (weights_[f]) return *weights_[f];
    throw InputError(Diagnostic{.file = file_of(families()[f]).string(),
                                .message = fmt::format("no such file of fitted weights, needed for {}; `tessera "
                                                       "calibrate` makes it",
                                                       families()[f].what)});
  }

  /// Where nobody says whose kernels run, the fastest of the fitted runtimes', in a bar that holds them all.
  void price_fastest(std::size_t f, bool seen, const std::vector<std::size_t>& members, std::span<const Kernel> kernels,
                     const Device& device, const PredictContext& context, std::vector<KernelCost>& costs) const {
    PredictContext one = context;
    std::vector<KernelCost> of_one(costs.size());
    for (const Runtime runtime : need_weights(f).runtimes) {
      one.runtime = runtime;
      price(f, seen, members, kernels, device, one, of_one);
      const bool first = runtime == need_weights(f).runtimes.front();
      for (const std::size_t i : members) costs[i] = first ? of_one[i] : faster(costs[i], of_one[i]);
    }
    for (const std::size_t i : members) {
      if (context.runtime != Runtime::unspecified && costs[i].provenance == Provenance::fitted)
        costs[i].provenance = Provenance::typical;
    }
  }

  static KernelCost faster(const KernelCost& a, const KernelCost& b) {
    KernelCost cost = b.time.p50 < a.time.p50 ? b : a;
    cost.time.p10 = min(a.time.p10, b.time.p10);
    cost.time.p90 = max(a.time.p90, b.time.p90);
    return cost;
  }

  void price(std::size_t f, bool seen, const std::vector<std::size_t>& members, std::span<const Kernel> kernels,
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
    std::vector<NetAnswer> nets = weights.evaluate(raw, std::vector(members.size(), context.runtime), seen);
    const bool other_runtime = context.runtime != Runtime::unspecified && !weights.knows(context.runtime);
    const auto measured = weights.measured_dtypes();
    const Bar& bar = seen ? weights.seen : weights.unseen;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Dtype dtype = kernels[members[i]].dtype;
      // Nets carry a dtype's rate; where there are none, a dtype is no more than its bytes.
      if (!weights.nets.empty() && !measured[static_cast<std::size_t>(dtype)]) {
        nets[i].out_of_range = std::max(nets[i].out_of_range, kUnmeasuredDtype);
      }
      costs[members[i]] =
          finish(analyses[i], analyses[i].corrected ? nets[i] : NetAnswer{}, weights, bar, device, dtype);
      Provenance& provenance = costs[members[i]].provenance;
      if (other_runtime && provenance == Provenance::fitted) provenance = Provenance::typical;
    }
  }

  std::filesystem::path folder_;
  std::vector<GpuSpec> measured_;
  std::vector<std::optional<FamilyWeights>> weights_;  // parallel to families(); empty: not in the folder
};

FamilyWeights TileModel::read_family(const std::filesystem::path& file, const Family& family) {
  FamilyWeights weights = read_weights(file);
  if (weights.family != family.name)
    throw InputError(Diagnostic{
        .file = file.string(),
        .message = fmt::format("holds the weights of '{}', expected those of '{}'", weights.family, family.name)});
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
