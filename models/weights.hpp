// A family's fitted part as a readable JSON file, and its evaluation.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/mlp.hpp"
#include "models/runtime.hpp"
#include "sim/base/dtype.hpp"
#include "sim/config/json.hpp"

namespace tessera {

/// One input of the nets: how it is standardised, and between which values it was fitted.
struct InputRange {
  std::string name;
  double mean = 0, deviation = 1;
  double low = 0, high = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// Quantiles of log(measured / predicted) on GPUs that were left out of the fit.
struct Residuals {
  double p10 = 0, p50 = 0, p90 = 0;
  friend bool operator==(const Residuals&, const Residuals&) = default;
};

/// One row of the leave-one-GPU-out table: error on `gpu` of a fit without it.
struct LeftOut {
  std::string gpu, op;
  std::size_t rows = 0;
  double mean_error = 0, median_error = 0, bias = 0;  // of |prediction / measurement - 1|; bias signed
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

struct FamilyWeights {
  std::string family;
  std::vector<InputRange> inputs;
  std::vector<Mlp> nets;                                  // an ensemble; empty: the closed form alone
  std::vector<Runtime> runtimes;                          // of the rows it was fitted on
  std::vector<std::pair<std::string, double>> constants;  // fitted numbers of the closed form, in the family's order
  Residuals small, large;                                 // below and above kSmallRatio floors
  std::vector<LeftOut> left_out;
  std::string command, data;  // what made the file, from which data

  /// NaN-free constant by name; throws RunError when the file lacks it.
  [[nodiscard]] double constant(std::string_view name) const;
  /// By dtype: whether the error table has rows of it. fp16 and bf16 run at one rate, so either stands for both; all
  /// of them where there is no table.
  [[nodiscard]] std::array<bool, kDtypeCount> measured_dtypes() const;
  [[nodiscard]] bool knows(Runtime runtime) const;
  /// Nets take one more input per runtime, 1 for the one that runs, where they were fitted on several. All are 0 for
  /// one that is unspecified or unknown: the typical kernel.
  [[nodiscard]] std::size_t runtime_inputs() const { return runtimes.size() > 1 ? runtimes.size() : 0; }
  /// `raw`: inputs of sample after sample, to what the nets take: standardised, held at the range's edges, then the
  /// runtime's.
  [[nodiscard]] std::vector<float> net_inputs(std::span<const float> raw, std::span<const Runtime> ran) const;
  /// Mean net output per sample (0 without nets), and how far outside the fitted range the worst input is, in widths of
  /// that range (at least a deviation).
  void evaluate(std::span<const float> raw, std::span<const Runtime> ran, std::span<float> net,
                std::span<float> out_of_range) const;
};

/// A kernel counts as small while its time is below this many floors.
inline constexpr double kSmallRatio = 4.0;

/// Rounded to five digits: what the file holds is what was fitted.
void round_weights(std::vector<Mlp>& nets);
/// Mean, deviation, and the range that holds the middle 99.8 % of each input.
std::vector<InputRange> fit_ranges(std::span<const float> raw, std::span<const std::string_view> names);
/// (x - mean) / deviation, held at the range's edges.
std::vector<float> standardise(std::span<const float> raw, std::span<const InputRange> ranges);

Json to_json(const FamilyWeights& weights);
FamilyWeights weights_from_json(const Json& json);
/// InputError naming the file where it is missing or damaged.
FamilyWeights read_weights(const std::filesystem::path& path);
void write_weights(const std::filesystem::path& path, const FamilyWeights& weights);

}  // namespace tessera
