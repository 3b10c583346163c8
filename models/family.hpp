// Families of kernels: each has a closed form, the dimensionless inputs of its nets, and a file of weights.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "models/device.hpp"
#include "models/kernel_cost.hpp"
#include "models/latency_model.hpp"
#include "models/weights.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

inline constexpr std::size_t kMaxInputs = 24;

/// A kernel on a device before anything learned: the closed form and what the nets are told.
struct KernelAnalysis {
  Seconds base;   // physics alone, without launch
  Seconds floor;  // what the smallest such kernel takes; under eager timing with the event floor
  std::int64_t blocks = 1;
  int blocks_per_sm = 1;
  BlockFootprint footprint;
  Flops executed;                          // padding included
  Bytes hbm_bytes;                         // L2 hits left out
  bool corrected = true;                   // false: the nets know no such shape, the closed form stands alone
  std::array<float, kMaxInputs> inputs{};  // ratios, or logs of sizes; never an absolute number of the device
};

/// `weights` carries the family's fitted constants, in the family's order; nets are not evaluated here.
using Analyse = KernelAnalysis (*)(const Kernel& kernel, const Device& device, const PredictContext& context,
                                   const FamilyWeights& weights);

/// A fitted number of a closed form, and its value before any fit.
struct NamedConstant {
  std::string_view name;
  double value;
};

struct Family {
  std::string_view name;  // also that of the weights file
  std::string_view what;
  std::span<const std::string_view> inputs;
  std::span<const NamedConstant> constants;
  Analyse analyse;
  bool fastest_runtime = false;  // unstated, that of the fastest kernel runs; false: the typical kernel
};

/// In the order of families().
enum class FamilyId : std::uint8_t {
  gemm_simt,
  gemm_matrix,
  vector,
  rows,
  memory,
  prefill,
  decode,
  conv,
  moe,
  mla_prefill,
  mla_decode
};

/// One row per family.
std::span<const Family> families();
/// Matrix multiplications go by whether the GPU's matrix unit takes the dtype.
FamilyId family_of(const Kernel& kernel, const Device& device);
/// The row's constants at their starting values, no nets.
FamilyWeights unfitted(const Family& family);

// Each family's closed form is in the file of its name.
KernelAnalysis analyse_gemm_simt(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
KernelAnalysis analyse_gemm_matrix(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
/// Work over the sustained rate, or compulsory bytes over device memory's, whichever is longer.
KernelAnalysis analyse_roofline(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

/// The whole cost from the analysis and what the nets say about it.
KernelCost finish(const KernelAnalysis& analysis, const NetAnswer& net, const FamilyWeights& weights, const Bar& bar,
                  const Device& device, Dtype dtype);
/// What the bar of that cost depends on; `log_p50` is log_time of the analysis and the net.
BarInputs bar_inputs(const KernelAnalysis& analysis, double log_p50, const NetAnswer& net, Dtype dtype);

}  // namespace tessera
