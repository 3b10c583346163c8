#include "sim/place/chip/gpu_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/device.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

using namespace literals;

// Die areas as NVIDIA's white papers give them (P100, V100, Turing, A100, GA102, H100, Ada, RTX Blackwell) or, where
// they give none (GP102, GP104, GA104, AD103, GB203), as the TechPowerUp GPU database lists them. SMs and caches of the
// whole die. Unverified: not checked again against those sources.
constexpr std::string_view kWhitePaper = "NVIDIA white paper", kDatabase = "TechPowerUp GPU database";
constexpr std::array kDies{
    KnownDie{"GP100", 16, 60, 64, 0, 4, 4, 0, Area(610), kWhitePaper},
    KnownDie{"GP102", 16, 30, 128, 0, 3, 0, 384, Area(471), kDatabase},
    KnownDie{"GP104", 16, 20, 128, 0, 2, 0, 256, Area(314), kDatabase},
    KnownDie{"GV100", 12, 84, 64, 512, 6, 4, 0, Area(815), kWhitePaper},
    KnownDie{"TU102", 12, 72, 64, 512, 6, 0, 384, Area(754), kWhitePaper},
    KnownDie{"TU104", 12, 48, 64, 512, 4, 0, 256, Area(545), kWhitePaper},
    KnownDie{"TU106", 12, 36, 64, 512, 4, 0, 256, Area(445), kWhitePaper},
    KnownDie{"GA100", 7, 128, 64, 1024, 48, 6, 0, Area(826), kWhitePaper},
    KnownDie{"GA102", 8, 84, 128, 512, 6, 0, 384, Area(628.4), kWhitePaper},
    KnownDie{"GA104", 8, 48, 128, 512, 4, 0, 256, Area(392.5), kDatabase},
    KnownDie{"AD102", 4, 144, 128, 512, 96, 0, 384, Area(608.5), kWhitePaper},
    KnownDie{"AD103", 4, 80, 128, 512, 64, 0, 256, Area(378.6), kDatabase},
    KnownDie{"AD104", 4, 60, 128, 512, 48, 0, 192, Area(294.5), kWhitePaper},
    KnownDie{"GH100", 4, 144, 128, 2048, 60, 6, 0, Area(814), kWhitePaper},
    KnownDie{"GB202", 4, 192, 128, 512, 128, 0, 512, Area(750), kWhitePaper},
    KnownDie{"GB203", 4, 84, 128, 512, 64, 0, 256, Area(378), kDatabase},
};

// Logic and SRAM shrink with the process: transistors per mm^2 of that generation's dies (25 M at 16 and 12 nm, 45 M at
// 8, 65.6 M at 7, 123 M at 4), relative to 4 nm. Interfaces to memory do not shrink.
double shrink(double process_nm) {
  const double density = process_nm >= 16   ? 25.0
                         : process_nm >= 12 ? 25.3
                         : process_nm >= 8  ? 45.0
                         : process_nm >= 7  ? 65.6
                                            : 123.0;
  return 123.0 / density;
}

// Least squares of relative errors over the dies above, in mm^2 of 4 nm. Mean abs % error of dies left out: 4.3,
// largest 9; with separate constants for HBM, GDDR and NVLink ports also 4.3, largest 11; without the constant
// part 6.5.
constexpr double kSm = 0.7803, kLanesPerSm = 128;  // a SM without lanes; the same again for every 128 lanes
constexpr double kMatrix = 0.2683, kMatrixFmas = 512;
constexpr double kL2 = 1.2274;                      // per MiB
constexpr double kMemory = 45.42, kGddrBits = 128;  // an HBM stack, or 128 bits of GDDR: PHY, controller, crossbar port
constexpr double kRest = 62.92;                     // per die: PCIe, NVLink, video, scheduling
constexpr double kAreaSpread = 0.051;               // rms relative error left out
constexpr double kBar = 1.2816;                     // normal quantile of p90
constexpr int kLargestKnownMatrix = 2048;
constexpr double kBeyondKnown = 2;  // the bar is so much wider there

Area area_of(double process_nm, double sms, double lanes, double fmas, double l2_mib, double memories, int dies) {
  const double logic = sms * (kSm * (1 + lanes / kLanesPerSm) + kMatrix * fmas / kMatrixFmas) + kL2 * l2_mib;
  return Area(shrink(process_nm) * logic + kMemory * memories + kRest * dies);
}

// HBM sites lie along two opposite edges of a die that is 26 mm wide at most, 10 mm each: six on GH100 and GA100, four
// on GP100.
constexpr double kMaskWidth = 26, kHbmEdge = 10;

/// Sites are built in pairs: five stacks of six are sold.
int built_stacks(const GpuTemplate& gpu) {
  return gpu.hbm_stacks + gpu.hbm_stacks % 2;
}

// Medians of on-demand offers per GPU-hour, lists of the largest clouds left out: catalogues of Lambda and Nebius as
// kept by the SkyPilot catalogue (2026), ranges of mercatus-ai.com (May 2026), AWS's list for A10G. Unverified: not
// checked again against those sources.
constexpr std::array kRents{
    KnownRent{"V100-SXM2-16GB", 125.0_TFLOPs, 16.0_GB, Money(0.79)},
    KnownRent{"RTX-A6000", 154.8_TFLOPs, 48.0_GB, Money(1.09)},
    KnownRent{"A10G", 125.0_TFLOPs, 24.0_GB, Money(1.006)},
    KnownRent{"L40S", 362.0_TFLOPs, 48.0_GB, Money(1.916)},
    KnownRent{"A100-SXM-80GB", 312.0_TFLOPs, 80.0_GB, Money(1.30)},
    KnownRent{"H100-SXM-80GB", 989.4_TFLOPs, 80.0_GB, Money(2.95)},
    KnownRent{"H200-SXM-141GB", 989.4_TFLOPs, 141.0_GB, Money(3.75)},
    KnownRent{"GH200-96GB", 989.4_TFLOPs, 96.0_GB, Money(2.29)},
    KnownRent{"B200-SXM-180GB", 2250.0_TFLOPs, 180.0_GB, Money(6.79)},
};
// rent = a (peak x memory)^b by least squares of logarithms. Mean abs % error of GPUs left out: 22 (peak alone 21, with
// bandwidth 23). Rents move by a factor of two within a year and between providers.
constexpr double kRentFactor = 0.04429, kRentExponent = 0.3696;
constexpr double kRentSpread = 0.256;  // rms error of the logarithm, left out

void check_range(std::vector<std::string>& errors, const char* what, double value, double low, double high) {
  if (value >= low && value <= high) return;
  errors.push_back(fmt::format("{} is {:g}; expected {:g} to {:g}", what, value, low, high));
}

}  // namespace

std::span<const KnownDie> known_dies() {
  return kDies;
}

Area predicted_area(const KnownDie& die) {
  return area_of(die.process_nm, die.sms, die.fp32_lanes_per_sm, die.matrix_fmas_per_sm, die.l2_mib,
                 die.hbm_stacks + die.gddr_bits / kGddrBits, 1);
}

Estimate<Area> die_area(const GpuTemplate& gpu) {
  const GpuGeneration& generation = gpu_generation(gpu.generation);
  const Area area =
      area_of(generation.process_nm, gpu.sms / generation.sold_sms_ratio, gpu.fp32_lanes_per_sm, gpu.matrix_fmas_per_sm,
              gpu.l2 / 1.0_MiB / generation.sold_l2_ratio, built_stacks(gpu), gpu.dies);
  const double wide = gpu.matrix_fmas_per_sm > kLargestKnownMatrix ? kBeyondKnown : 1.0;
  const double bar = kBar * kAreaSpread * wide;
  return {area * (1 - bar), area, area * (1 + bar)};
}

Watts uncapped_power(const GpuTemplate& gpu) {
  GpuSpec spec = to_spec(gpu);
  const Watts no_cap(1e6);
  spec.power_cap = no_cap;
  const Device device = derive_device(spec);
  const auto half = static_cast<std::size_t>(Dtype::bf16);
  const double active_ratio = 1 - device.idle / no_cap;
  return device.sustained[half] * device.energy_per_flop[half] / active_ratio;
}

std::span<const KnownRent> known_rents() {
  return kRents;
}

Money predicted_rent(FlopsPerSec peak, Bytes memory) {
  return Money(kRentFactor * std::pow(peak / 1.0_TFLOPs * (memory / 1.0_GB), kRentExponent));
}

Estimate<Money> rent_per_hour(const GpuSpec& gpu) {
  const Money rent = predicted_rent(gpu.peak_of(Dtype::bf16), gpu.memory);
  const double bar = std::exp(kBar * kRentSpread);
  return {rent / bar, rent, rent * bar};
}

std::vector<std::string> gpu_template_errors(const GpuTemplate& gpu) {
  std::vector<std::string> errors;
  check_range(errors, "dies", gpu.dies, 1, 4);
  check_range(errors, "SMs", gpu.sms, 1, 1024);
  check_range(errors, "fp32 lanes per SM", gpu.fp32_lanes_per_sm, 32, 256);
  check_range(errors, "matrix FMAs per SM", gpu.matrix_fmas_per_sm, 128, 16384);
  check_range(errors, "base clock in MHz", gpu.base_clock.value() / 1e6, 300, 4000);
  check_range(errors, "boost clock in MHz", gpu.boost_clock.value() / 1e6, 300, 4000);
  check_range(errors, "matrix clock in MHz", gpu.matrix_clock.value() / 1e6, 300, 4000);
  check_range(errors, "L2 in MiB", gpu.l2 / 1.0_MiB, 1, 1024);
  check_range(errors, "HBM stacks", gpu.hbm_stacks, 1, 32);
  check_range(errors, "bandwidth of a stack in GB/s", gpu.stack_bandwidth / 1.0_GBps, 50, 4000);
  check_range(errors, "capacity of a stack in GiB", gpu.stack_capacity / 1.0_GiB, 1, 128);
  check_range(errors, "NVLink ports", gpu.nvlink_ports, 0, 72);
  check_range(errors, "power cap in W", gpu.power_cap.value(), 20, 4000);
  if (!errors.empty()) return errors;
  const Area each = die_area(gpu).p50 / gpu.dies;
  if (each > kReticle) {
    errors.push_back(
        fmt::format("a die of {:.0f} mm2 is larger than a mask exposes ({:.0f} mm2)", each.value(), kReticle.value()));
    return errors;
  }
  const int sites = gpu.dies * 2 * static_cast<int>(each.value() / kMaskWidth / kHbmEdge);
  if (built_stacks(gpu) > sites) {
    errors.push_back(fmt::format("{} sites of HBM stacks, but the edges of {} of {:.0f} mm2 hold {}", built_stacks(gpu),
                                 gpu.dies > 1 ? "dies" : "a die", each.value(), sites));
  }
  return errors;
}

}  // namespace tessera
