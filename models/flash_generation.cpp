#include "models/flash_generation.hpp"

#include "sim/base/error.hpp"

namespace tessera {
namespace {

constexpr double kFirstOnAmpere = (0.25 + 0.40) / 2, kSecondOnAmpere = (0.50 + 0.73) / 2;
constexpr double kSecondOnHopper = 0.35, kThirdOnHopper = 0.75;

}  // namespace

double flash_slowdown(FlashGeneration generation, const GpuSpec& gpu) {
  if (generation == FlashGeneration::newest) return 1;
  if (gpu.matrix_unit == MatrixUnit::tcgen05) return 1;
  const double second = gpu.matrix_unit == MatrixUnit::wgmma ? kThirdOnHopper / kSecondOnHopper : 1;
  return generation == FlashGeneration::second ? second : second * kSecondOnAmpere / kFirstOnAmpere;
}

void use_flash_generation(FlashGeneration generation, const GpuSpec& gpu, std::span<const Kernel> kernels,
                          CostTable& costs) {
  TESSERA_ASSERT(kernels.size() == costs.size(), "a cost for every kernel");
  const double slowdown = flash_slowdown(generation, gpu);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].op != Op::attention_prefill && kernels[i].op != Op::attention_backward) continue;
    Estimate<Seconds>& time = costs[i].time;
    time = {time.p10 * slowdown, time.p50 * slowdown, time.p90 * slowdown};
  }
}

}  // namespace tessera
