#include "models/device.hpp"

#include <algorithm>
#include <cmath>

namespace tessera {

namespace {

// Share of nominal peak that large GEMMs reach where power does not bind. Matrix units: best of a search over shapes
// on A100, H100, H200, B200 is 0.73-0.87 (stas00/ml-engineering, MAMF tables). fp32 lanes: with 16 lanes per scheduler
// an FFMA holds its lanes two cycles and loads issue between; with 32 every load takes an FFMA's slot.
constexpr double kMatrixShare = 0.85, kMfmaShare = 0.65, kLaneShare = 0.92, kLaneShareFullIssue = 0.80;
constexpr int kLanesFullIssue = 128;

// FLOP/s per watt of the whole board under large GEMMs. A wider matrix unit reuses its operands more, and a narrower
// format moves fewer bits, so energy falls with FMAs per clock per SM: 16-bit L40S (512) 0.63, H100 (2048) 1.1,
// B200 (4096) 1.5 TFLOP/s/W (medians of AIConfigurator's large GEMMs); A100 PCIe (1024) 0.84, MI300X (1024) 0.89
// (MAMF).
constexpr double kMatrixPerWatt = 0.63e12, kMatrixRate = 512;
constexpr double kMatrixRateExponent = 0.42, kNarrowExponent = 0.8;
// fp32 lanes, large linear and bmm of NeuSight: 16 nm P4 46 in one session and 56 in another, 12 nm T4 50 and 58, 7 nm
// A100 PCIe 65 GFLOP/s/W.
constexpr double kLanesPerWatt = 65e9, kLanesPerWatt12 = 58e9, kLanesPerWatt16 = 50e9;
// No fp32 data below 7 nm: there the base clock, which the vendor promises at the power cap, bounds the rate from
// below; large GEMMs ran 1.0 to 1.5 times as fast as at base clock on P4, V100, T4 and both A100s.
constexpr double kAboveBase = 1.2;
constexpr double kOldNode = 10, kFirstFinFet = 14;  // nm
constexpr double kOldNodeMatrix = 1.6;              // energy of a matrix FLOP there, relative

// Bandwidth of large copies over the data sheet's (NeuSight's elementwise rows: 0.86-0.91 on V100 and A100).
// GDDR of Ampere and later 0.82 (A40 adds of Vidur, L40S decode of AIConfigurator); before that, and Pascal's HBM2,
// 0.75.
// AMD's MI100 and MI210: 0.80-0.87.
constexpr double kHbmShare = 0.89, kGddrShare = 0.82, kEarlyShare = 0.75, kAmdShare = 0.83;
// L2 to SMs: 64 bytes per clock per SM (NVIDIA A100 whitepaper: 5120 B/clk for 108 SMs), of which about 0.7 is seen.
constexpr double kL2BytesPerClock = 64 * 0.7;
// Little's law for one SM: about 40 KiB of loads in flight, about 700 ns to device memory.
constexpr double kInFlight = 40 * 1024, kMemoryLatency = 700e-9;
// Kernels of a few thousand operations in a CUDA graph: 1.7 (L40S, B200) to 2.5 us (A100, H100) (AIConfigurator).
constexpr double kLaunchFloor = 2e-6;

// Idle power: 50-70 W of 400-700 W boards. Energy per byte: HBM2e about 5 pJ/bit with controller and PHY, GDDR6 about
// 9 (O'Connor et al., Fine-Grained DRAM, MICRO 2017, tables on HBM2 and GDDR5).
constexpr double kIdleShare = 0.12, kHbmEnergy = 40e-12, kGddrEnergy = 72e-12;

bool is_hbm(const GpuSpec& gpu) {
  return gpu.memory_type.rfind("HBM", 0) == 0;
}

double bandwidth_share(const GpuSpec& gpu) {
  if (gpu.vendor == "AMD") return kAmdShare;
  const bool early = gpu.vendor == "NVIDIA" && gpu.process_nm > kOldNode;
  const bool pascal = early && gpu.matrix_unit == MatrixUnit::none;
  if (pascal || (early && !is_hbm(gpu))) return kEarlyShare;
  return is_hbm(gpu) ? kHbmShare : kGddrShare;
}

double fma_per_clock(FlopsPerSec peak, const GpuSpec& gpu) {
  return peak.value() / (2 * gpu.boost_clock.value() * gpu.sms);
}

double lanes_per_watt(const GpuSpec& gpu) {
  if (gpu.process_nm <= kOldNode) return kLanesPerWatt;
  return gpu.process_nm > kFirstFinFet ? kLanesPerWatt16 : kLanesPerWatt12;
}

/// Whether one scheduler feeds 32 lanes. Pascal's always do: GP100's 64 lanes hang on two schedulers (NVIDIA, Tesla
/// P100 white paper); Volta split the same 64 among four.
bool full_issue(const GpuSpec& gpu) {
  const bool pascal = gpu.vendor == "NVIDIA" && gpu.matrix_unit == MatrixUnit::none;
  return pascal || gpu.fp32_lanes_per_sm >= kLanesFullIssue;
}

double lane_share(const GpuSpec& gpu) {
  return full_issue(gpu) ? kLaneShareFullIssue : kLaneShare;
}

FlopsPerSec lanes_sustained(const GpuSpec& gpu) {
  const double at_base = gpu.fp32_vector_peak.value() * gpu.base_clock.value() / gpu.boost_clock.value();
  const double by_power = gpu.power_cap.value() * lanes_per_watt(gpu);
  const double powered = gpu.process_nm > kOldNode ? by_power : std::max(by_power, kAboveBase * at_base);
  return FlopsPerSec(std::min(lane_share(gpu) * gpu.fp32_vector_peak.value(), powered));
}

double matrix_per_watt(Dtype dtype, const GpuSpec& gpu) {
  const FlopsPerSec peak = gpu.peak_of(dtype), half = gpu.peak_of(Dtype::fp16);
  const double wide = fma_per_clock(half.value() > 0 ? half : peak, gpu);
  const double narrow = half.value() > 0 ? peak / half : 1.0;
  const double per_watt =
      kMatrixPerWatt * std::pow(wide / kMatrixRate, kMatrixRateExponent) * std::pow(narrow, kNarrowExponent);
  return gpu.process_nm > kOldNode ? per_watt / kOldNodeMatrix : per_watt;
}

}  // namespace

double Device::fma_per_clock(Dtype dtype) const {
  return tessera::fma_per_clock(spec.peak_of(dtype), spec);
}

bool Device::on_matrix_unit(Dtype dtype) const {
  if (spec.matrix_unit == MatrixUnit::none) return false;
  return dtype != Dtype::fp32 || spec.matrix_unit == MatrixUnit::mfma;
}

Device derive_device(const GpuSpec& gpu) {
  Device device;
  device.spec = gpu;
  device.sustained_vector = lanes_sustained(gpu);
  const double active = 1 - kIdleShare;
  for (std::size_t i = 0; i < kDtypeCount; ++i) {
    const Dtype dtype = kDtypes[i];
    const double peak = gpu.peak_of(dtype).value();
    if (peak <= 0) continue;
    const bool matrix = device.on_matrix_unit(dtype);
    const double per_watt = matrix ? matrix_per_watt(dtype, gpu) : lanes_per_watt(gpu);
    // Lanes that run two or more narrow operations at once keep the share that they reach in fp32.
    const double lanes = device.sustained_vector / gpu.fp32_vector_peak * peak;
    const double share = !matrix ? lane_share(gpu) : gpu.matrix_unit == MatrixUnit::mfma ? kMfmaShare : kMatrixShare;
    device.uncapped[i] = FlopsPerSec(share * peak);
    device.sustained[i] = FlopsPerSec(matrix ? std::min(share * peak, gpu.power_cap.value() * per_watt) : lanes);
    device.energy_per_flop[i] =
        JoulesPerFlop(active * std::min(1 / per_watt, gpu.power_cap.value() / device.sustained[i].value()));
  }
  device.hbm = gpu.memory_bandwidth * bandwidth_share(gpu);
  device.hbm_per_sm = BytesPerSec(kInFlight / kMemoryLatency);
  device.l2 = BytesPerSec(kL2BytesPerClock * gpu.sms * gpu.boost_clock.value());
  device.launch_floor = Seconds(kLaunchFloor);
  device.energy_per_byte = JoulesPerByte(is_hbm(gpu) ? kHbmEnergy : kGddrEnergy);
  device.idle = gpu.power_cap * kIdleShare;
  return device;
}

}  // namespace tessera
