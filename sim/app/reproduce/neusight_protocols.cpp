#include "sim/app/reproduce/neusight_protocols.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "calibration/fit.hpp"
#include "sim/base/error.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// What an fp32 model on a GPU without matrix units for it consists of.
const std::vector<std::string>& families_of_fp32() {
  static const std::vector<std::string> kFamilies{"gemm_simt", "vector", "rows", "memory"};
  return kFamilies;
}

/// GPUs that stand or fall together: the same chip, or another of its generation.
constexpr std::array<std::string_view, 5> kChips{"A100", "V100", "P100", "P4", "T4"};

/// The chip that a GPU's name starts with; empty: another.
std::string_view chip_of(std::string_view gpu) {
  const auto chip = std::ranges::find_if(kChips, [&](std::string_view c) { return gpu.starts_with(c); });
  return chip == kChips.end() ? std::string_view() : *chip;
}

/// Pascal's two chips count as one family.
bool stand_together(std::string_view a, std::string_view b) {
  const auto pascal = [](std::string_view chip) { return chip == "P100" || chip == "P4"; };
  return !a.empty() && (a == b || (pascal(a) && pascal(b)));
}

/// Fits without the GPUs that `out` says, and reads the weights.
std::unique_ptr<LatencyModel> fitted_without(const ReproduceOptions& options, std::string_view label,
                                             const std::function<bool(std::string_view gpu)>& out) {
  FitOptions how;
  how.data = options.data;
  how.out = fs::temp_directory_path() / fmt::format("tessera-protocol-{}", ::getpid());
  how.families = families_of_fp32();
  how.error_table = false;
  how.progress = [&](std::string_view step) { options.progress(fmt::format("{}: {}", label, step)); };
  for (const std::string& gpu : known_gpus()) {
    if (out(gpu)) how.leave_out.push_back(gpu);
  }
  std::unique_ptr<LatencyModel> model;
  std::error_code ignored;
  try {
    fit(how);
    model = make_latency_model("tile", how.out);
  } catch (...) {
    fs::remove_all(how.out, ignored);
    throw;
  }
  fs::remove_all(how.out, ignored);
  return model;
}

/// One model per chip.
class ByChip final : public LatencyModel {
 public:
  struct Row {
    std::vector<std::string_view> chips;
    std::unique_ptr<LatencyModel> model;
  };
  explicit ByChip(std::vector<Row> rows) : rows_(std::move(rows)) {}

  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext& context) const override {
    for (const Row& row : rows_) {
      if (std::ranges::find(row.chips, chip_of(gpu.name)) != row.chips.end()) {
        return row.model->predict(kernels, gpu, context);
      }
    }
    throw RunError(gpu.name + ": its kind is not left out here");
  }

 private:
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Contender> protocol_contenders(const ReproduceOptions& options) {
  std::vector<Contender> all;
  std::vector<ByChip::Row> paper, left_out;
  paper.push_back({{kChips.begin(), kChips.end()},
                   fitted_without(options, "protocol N", [](std::string_view gpu) { return !seen_by_neusight(gpu); })});
  std::vector<std::string_view> done;
  for (const std::string_view chip : kChips) {
    if (std::ranges::find(done, chip) != done.end()) continue;
    std::vector<std::string_view> mates;
    std::ranges::copy_if(kChips, std::back_inserter(mates),
                         [&](std::string_view other) { return stand_together(chip, other); });
    done.insert(done.end(), mates.begin(), mates.end());
    left_out.push_back({mates, fitted_without(options, fmt::format("without {}", chip), [&](std::string_view gpu) {
                          return stand_together(chip, chip_of(gpu));
                        })});
  }
  all.push_back({"Tessera, N", std::make_unique<ByChip>(std::move(paper))});
  all.push_back({"Tessera, L", std::make_unique<ByChip>(std::move(left_out))});
  return all;
}

}  // namespace tessera
