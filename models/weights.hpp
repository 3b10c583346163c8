// A family's fitted part as a readable JSON file, and its evaluation.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/bar.hpp"
#include "models/mlp.hpp"
#include "models/runtime.hpp"
#include "sim/base/dtype.hpp"
#include "sim/config/json.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

/// One input of the nets: how it is standardised, and between which values it was fitted.
struct InputRange {
  std::string name;
  double mean = 0, deviation = 1;
  double low = 0, high = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// Which rows a fit had not seen when it was asked about them.
enum class Protocol : std::uint8_t {
  L,  // the GPU's, and those of its architecture
  N,  // the GPU's; others of its architecture were in the fit
  S,  // the shape's, on any GPU
};

std::string_view to_string(Protocol protocol);

/// One row of the error table: error on `gpu` of a fit without it.
struct LeftOut {
  Protocol protocol = Protocol::L;
  std::string gpu, op;
  std::size_t rows = 0;
  double mean_error = 0, median_error = 0, bias = 0;  // of |prediction / measurement - 1|; bias signed
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

/// What the nets say about one kernel.
struct NetAnswer {
  float value = 0;   // mean of the members; 0 without nets
  float spread = 0;  // their deviation
  float out_of_range =
      0;  // distance of the worst input outside the fitted range, in widths of it (at least a deviation)
};

struct FamilyWeights {
  std::string family;
  std::vector<InputRange> inputs;
  std::vector<Mlp> nets;                                  // an ensemble; empty: the closed form alone
  std::vector<Mlp> seen_nets;                             // fitted closer, for GPUs that the fit has seen; empty: nets
  std::vector<Runtime> runtimes;                          // of the rows it was fitted on
  std::vector<std::pair<std::string, double>> constants;  // fitted numbers of the closed form, in the family's order
  Bar unseen, seen;                                       // on GPUs that the fit has not seen, and on those it has
  std::vector<LeftOut> left_out;
  std::string command, data;  // what made the file, from which data

  /// NaN-free constant by name; throws RunError when the file lacks it.
  [[nodiscard]] double constant(std::string_view name) const;
  /// By dtype: whether the error table has rows of it. fp16 and bf16 run at one rate, so either stands for both; all
  /// of them where there is no table.
  [[nodiscard]] std::array<bool, kDtypeCount> measured_dtypes() const;
  [[nodiscard]] bool knows(Runtime runtime) const;
  /// Nets take one more input per runtime, 1 for the one that runs, where they were fitted on several. All are 0 for
  /// one that is unspecified or unknown: the nets' typical kernel.
  [[nodiscard]] std::size_t runtime_inputs() const { return runtimes.size() > 1 ? runtimes.size() : 0; }
  /// Whether such rows of this GPU were fitted; fp16 and bf16 stand for each other, and linear and gemm.
  [[nodiscard]] bool has_seen(std::string_view gpu, Op op, Dtype dtype) const;
  /// `raw`: inputs of sample after sample, to what the nets take: standardised, held at the range's edges, then the
  /// runtime's.
  [[nodiscard]] std::vector<float> net_inputs(std::span<const float> raw, std::span<const Runtime> ran) const;
  /// One answer per entry of `ran`; `seen_gpu`: all on GPUs that the fit has seen.
  [[nodiscard]] std::vector<NetAnswer> evaluate(std::span<const float> raw, std::span<const Runtime> ran,
                                                bool seen_gpu = false) const;
};

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
