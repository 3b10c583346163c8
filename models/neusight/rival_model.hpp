// What NeuSight and the baselines of its paper share as latency models: operations, transfers, sums, no error bars.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/latency_model.hpp"
#include "models/neusight/operation.hpp"

namespace tessera::neusight {

struct Priced {
  Seconds time;
  std::int64_t blocks = 1, waves = 1;
};

/// Sums the operations that a kernel amounts to; MEM operations at full bandwidth. Not modelled by any of them: launch,
/// timing, residency, layouts, other dtypes than fp32, other vendors than NVIDIA (the public data holds no AMD training
/// rows of matrix products). The three quantiles are equal: none of these models knows its error.
class RivalModel : public LatencyModel {
 public:
  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext& context) const final;

  /// One price per operation; none of them is a transfer.
  [[nodiscard]] virtual std::vector<Priced> price(std::span<const Operation> operations, const GpuSpec& gpu) const = 0;
};

/// The rebuilt models, for those who ask for the price of an operation. `weights` as in make_latency_model.
std::unique_ptr<RivalModel> open_habitat(const std::filesystem::path& weights);
std::unique_ptr<RivalModel> open_neusight(const std::filesystem::path& weights);

/// `weights`, or the folder that `tessera calibrate --model NAME` writes. InputError naming that command where `file`
/// is not in it.
std::filesystem::path weights_folder(const std::filesystem::path& weights, std::string_view name,
                                     std::string_view file);

}  // namespace tessera::neusight
