// A parametric GPU: what a designer may turn, and the data sheet that follows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/gpu.hpp"

namespace tessera {

/// What a generation fixes: process, instructions, limits of an SM, ports, and how much of a die is sold.
struct GpuGeneration {
  std::string_view name, architecture;
  double process_nm = 0;
  MatrixUnit matrix_unit = MatrixUnit::none;
  std::string_view memory_type;
  Bytes shared_memory_per_sm, registers_per_sm;
  int threads_per_sm = 2048, blocks_per_sm = 32;
  BytesPerSec nvlink_port, pcie;  // one direction
  /// Peaks of other dtypes over that of 16-bit operands; 0: not supported.
  double tf32_ratio = 0.5, eight_bit_float_ratio = 0, int8_ratio = 2, nvfp4_ratio = 0;
  double sold_sms_ratio = 1, sold_l2_ratio = 1;  // enabled over built; the rest is spare
};
/// Ampere, Hopper, Blackwell.
std::span<const GpuGeneration> gpu_generations();
/// InputError with the nearest name.
const GpuGeneration& gpu_generation(std::string_view name);

struct GpuTemplate {
  std::string generation{};  // a name in gpu_generations()
  int dies = 1;              // of equal size, one GPU
  int sms = 0;               // enabled, of all dies
  int fp32_lanes_per_sm = 128;
  int matrix_fmas_per_sm = 1024;  // dense 16-bit multiply-adds per clock
  Hertz base_clock{}, boost_clock{};
  Hertz matrix_clock{};  // at which the vendor quotes matrix peaks
  Bytes l2{};
  int hbm_stacks = 0;
  BytesPerSec stack_bandwidth{};
  Bytes stack_capacity{};
  int nvlink_ports = 0;
  Watts power_cap{};
  friend bool operator==(const GpuTemplate&, const GpuTemplate&) = default;
};

/// "Hopper: 132 SMs x (128 lanes + 2048 FMAs), 1830 MHz, 50 MiB, 5 HBM x 670 GB/s, 18 NVLink, 700 W".
std::string describe(const GpuTemplate& gpu);

/// The data sheet. Peaks: SMs x FMAs x 2 x clock; bandwidths and capacities: their parts' sums.
GpuSpec to_spec(const GpuTemplate& gpu);

struct NamedGpuTemplate {
  std::string_view name;  // of the same GPU in platforms/gpus
  GpuTemplate gpu;
};
/// A100-SXM-80GB, H100-SXM-80GB, H200-SXM-141GB, B200-SXM-180GB.
std::span<const NamedGpuTemplate> known_gpu_templates();
/// InputError with the nearest name.
const GpuTemplate& gpu_template(std::string_view name);

}  // namespace tessera
