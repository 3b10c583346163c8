#include "sim/dispatch/interference.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/device.hpp"

namespace tessera {

namespace {

// GPUlet's regression on an RTX 2080 Ti: a model's slowdown per unit of the others' L2 utilisation, and the ratio of L2
// to DRAM utilisation of its five models at batch 8 (bert, densenet161, mobilenet_v2, resnet50, vgg16: mean 0.51).
constexpr double kPerL2 = 0.716, kL2PerDram = 0.51;
// Dynamic power goes with the cube of the clock where voltage follows it.
constexpr double kClockExponent = 1.0 / 3;
// iGniter on a V100: delay before a kernel with 1 to 5 models at work. More were not measured: as with five.
constexpr std::array kGap{1.4e-6, 1.7e-6, 6.8e-6, 11.9e-6, 17.0e-6};
// Fitted to the medians of XSched's 20 kernel lengths from 0.1 to 2 ms (mean errors 2, 13 and 7 %): a throttled queue
// still runs some ten kernels, a flushed one the kernel under way, and the interrupt takes the same for all.
constexpr double kThrottledKernels = 10.3, kFlushedKernels = 0.9;
constexpr Seconds kThrottleHead(0.24e-3), kInterrupt(25.5e-6);

}  // namespace

Interference::Interference(const GpuSpec& gpu, const SharingTerms& terms)
    : terms_(terms), bandwidth_(gpu.memory_bandwidth), dynamic_cap_(gpu.power_cap - derive_device(gpu).idle) {}

double Interference::factor(const Company& company) const {
  double factor = 1;
  if (terms_.l2 && company.own_traffic && company.others_demand > BytesPerSec(0.0)) {
    factor += kPerL2 * kL2PerDram * std::min(1.0, company.others_demand / bandwidth_);
  }
  // A kernel's own time has the clock that it reaches alone.
  const Watts bearable = max(dynamic_cap_, company.own_power);
  if (terms_.clock && company.all_power > bearable && bearable > Watts(0.0)) {
    factor *= std::pow(company.all_power / bearable, kClockExponent);
  }
  return factor;
}

Seconds Interference::gap(int active_streams) const {
  if (!terms_.launch) return Seconds(0.0);
  const int last = static_cast<int>(kGap.size()) - 1;
  return Seconds(kGap[static_cast<std::size_t>(std::clamp(active_streams - 1, 0, last))]);
}

Seconds preemption_latency(Preemption level, Seconds kernel) {
  switch (level) {
    case Preemption::throttle:
      return max(kernel, kThrottledKernels * kernel - kThrottleHead);
    case Preemption::flush:
      return kFlushedKernels * kernel;
    case Preemption::interrupt:
      break;
  }
  return kInterrupt;
}

}  // namespace tessera
