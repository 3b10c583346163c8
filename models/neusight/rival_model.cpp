#include "models/neusight/rival_model.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "models/device.hpp"
#include "models/neusight/law.hpp"
#include "models/support.hpp"
#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera::neusight {

namespace {

constexpr Seconds kLeast(1e-9);  // a kernel takes some time, also where the law says none

void require_nvidia(const GpuSpec& gpu) {
  if (gpu.vendor == "NVIDIA") return;
  throw RunError(fmt::format("{}: neusight and its baselines are fitted on NVIDIA GPUs only", gpu.name));
}

Joules energy_of(const Kernel& kernel, const Device& device, Bytes moved) {
  return flops(kernel) * device.energy_per_flop[static_cast<std::size_t>(kernel.dtype)] +
         moved * device.energy_per_byte;
}

}  // namespace

std::vector<KernelCost> RivalModel::predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                            const PredictContext& /*context*/) const {
  require_nvidia(gpu);
  const Device device = derive_device(gpu);
  const GpuNumbers numbers = numbers_of(gpu);
  std::vector<KernelCost> costs(kernels.size());
  std::vector<Operation> operations;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    require_supported(kernels[i], gpu);
    costs[i].hbm_bytes = traffic(kernels[i]).total();
    costs[i].energy = energy_of(kernels[i], device, costs[i].hbm_bytes);
    costs[i].provenance = Provenance::fitted;
    Seconds transfers;
    for (const Operation& operation : operations_of(kernels[i])) {
      if (operation.kind == Kind::memory) {
        transfers += transfer_time(operation.bytes, numbers);
      } else {
        operations.push_back(operation);
        owners.push_back(i);
      }
    }
    costs[i].time = Estimate<Seconds>::exact(transfers);
  }
  const std::vector<Priced> prices = price(operations, gpu);
  for (std::size_t j = 0; j < prices.size(); ++j) {
    KernelCost& cost = costs[owners[j]];
    cost.time = Estimate<Seconds>::exact(cost.time.p50 + prices[j].time);
    cost.blocks = std::max(cost.blocks, prices[j].blocks);
    cost.waves = std::max(cost.waves, prices[j].waves);
  }
  for (KernelCost& cost : costs) cost.time = Estimate<Seconds>::exact(max(cost.time.p50, kLeast));
  return costs;
}

std::filesystem::path weights_folder(const std::filesystem::path& weights, std::string_view name,
                                     std::string_view file) {
  const std::filesystem::path folder = weights.empty() ? home() / "calibration" / "rivals" / name : weights;
  if (!std::filesystem::exists(folder / file)) {
    throw InputError(Diagnostic{.file = (folder / file).string(),
                                .message = fmt::format("no weights of {0}; fit them with tessera calibrate --model {0} "
                                                       "--data DIR --out {1}",
                                                       name, folder.string())});
  }
  return folder;
}

}  // namespace tessera::neusight
