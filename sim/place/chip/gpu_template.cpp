#include "sim/place/chip/gpu_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace {

using namespace literals;

// White papers of NVIDIA: A100 (108 of 128 SMs, 40 of 48 MB of L2), H100 (132 of 144, 50 of 60 MB), Blackwell data
// sheets. NVLink ports of 25, 25 and 50 GB/s in one direction: 12, 18 and 18 of them make 300, 450 and 900 GB/s.
constexpr std::array kGenerations{
    GpuGeneration{.name = "Ampere",
                  .architecture = "Ampere GA100",
                  .process_nm = 7,
                  .matrix_unit = MatrixUnit::mma_sync,
                  .memory_type = "HBM2e",
                  .shared_memory_per_sm = 164.0_KiB,
                  .registers_per_sm = 256.0_KiB,
                  .nvlink_port = 25.0_GBps,
                  .pcie = 32.0_GBps,
                  .sold_sms_ratio = 108.0 / 128,
                  .sold_l2_ratio = 40.0 / 48},
    GpuGeneration{.name = "Hopper",
                  .architecture = "Hopper GH100",
                  .process_nm = 4,
                  .matrix_unit = MatrixUnit::wgmma,
                  .memory_type = "HBM3",
                  .shared_memory_per_sm = 228.0_KiB,
                  .registers_per_sm = 256.0_KiB,
                  .nvlink_port = 25.0_GBps,
                  .pcie = 64.0_GBps,
                  .eight_bit_float_ratio = 2,
                  .sold_sms_ratio = 132.0 / 144,
                  .sold_l2_ratio = 50.0 / 60},
    GpuGeneration{.name = "Blackwell",
                  .architecture = "Blackwell GB100",
                  .process_nm = 4,
                  .matrix_unit = MatrixUnit::tcgen05,
                  .memory_type = "HBM3e",
                  .shared_memory_per_sm = 228.0_KiB,
                  .registers_per_sm = 256.0_KiB,
                  .nvlink_port = 50.0_GBps,
                  .pcie = 64.0_GBps,
                  .eight_bit_float_ratio = 2,
                  .nvfp4_ratio = 4,
                  .sold_sms_ratio = 148.0 / 160},
};

constexpr Hertz operator""_clock_MHz(unsigned long long v) {
  return Hertz(static_cast<double>(v) * 1e6);
}

/// Data sheets; the clock of B200's matrix peaks follows from 2250 TFLOP/s.
const std::array<NamedGpuTemplate, 4>& templates() {
  static const GpuTemplate a100{.generation = "Ampere",
                                .sms = 108,
                                .fp32_lanes_per_sm = 64,
                                .matrix_fmas_per_sm = 1024,
                                .base_clock = 1275_clock_MHz,
                                .boost_clock = 1410_clock_MHz,
                                .matrix_clock = 1410_clock_MHz,
                                .l2 = 40.0_MiB,
                                .hbm_stacks = 5,
                                .stack_bandwidth = 407.8_GBps,
                                .stack_capacity = 16.0_GiB,
                                .nvlink_ports = 12,
                                .power_cap = 400.0_W};
  static const GpuTemplate h100{.generation = "Hopper",
                                .sms = 132,
                                .fp32_lanes_per_sm = 128,
                                .matrix_fmas_per_sm = 2048,
                                .base_clock = 1590_clock_MHz,
                                .boost_clock = 1980_clock_MHz,
                                .matrix_clock = 1830_clock_MHz,
                                .l2 = 50.0_MiB,
                                .hbm_stacks = 5,
                                .stack_bandwidth = 670.0_GBps,
                                .stack_capacity = 16.0_GiB,
                                .nvlink_ports = 18,
                                .power_cap = 700.0_W};
  static const GpuTemplate h200 = [] {
    GpuTemplate gpu = h100;
    gpu.hbm_stacks = 6;
    gpu.stack_bandwidth = 800.0_GBps;
    gpu.stack_capacity = 23.5_GiB;
    return gpu;
  }();
  static const GpuTemplate b200{.generation = "Blackwell",
                                .dies = 2,
                                .sms = 148,
                                .fp32_lanes_per_sm = 128,
                                .matrix_fmas_per_sm = 4096,
                                .base_clock = 700_clock_MHz,
                                .boost_clock = 1965_clock_MHz,
                                .matrix_clock = 1856_clock_MHz,
                                .l2 = 126.0_MiB,
                                .hbm_stacks = 8,
                                .stack_bandwidth = 962.5_GBps,
                                .stack_capacity = 22.5_GiB,
                                .nvlink_ports = 18,
                                .power_cap = 1000.0_W};
  static const std::array<NamedGpuTemplate, 4> all{
      {{"A100-SXM-80GB", a100}, {"B200-SXM-180GB", b200}, {"H100-SXM-80GB", h100}, {"H200-SXM-141GB", h200}}};
  return all;
}

template <class Named>
const Named& named(std::span<const Named> all, std::string_view name, std::string_view what) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& n) { return n.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Named& n : all) names.emplace_back(n.name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("; known are {}", fmt::join(names, ", "));
  throw InputError(Diagnostic{.message = fmt::format("no {} named '{}'{}", what, name, hint)});
}

}  // namespace

std::span<const GpuGeneration> gpu_generations() {
  return kGenerations;
}

const GpuGeneration& gpu_generation(std::string_view name) {
  return named(gpu_generations(), name, "GPU generation");
}

std::span<const NamedGpuTemplate> known_gpu_templates() {
  return templates();
}

const GpuTemplate& gpu_template(std::string_view name) {
  return named(known_gpu_templates(), name, "GPU template").gpu;
}

std::string describe(const GpuTemplate& gpu) {
  return fmt::format(
      "{}: {}{} SMs x ({} lanes + {} FMAs), {:.0f} MHz, {:.0f} MiB, {} HBM x {:.0f} GB/s, {} NVLink, {:.0f} W",
      gpu.generation, gpu.dies > 1 ? fmt::format("{} dies, ", gpu.dies) : "", gpu.sms, gpu.fp32_lanes_per_sm,
      gpu.matrix_fmas_per_sm, gpu.matrix_clock.value() / 1e6, gpu.l2 / 1.0_MiB, gpu.hbm_stacks,
      gpu.stack_bandwidth / 1.0_GBps, gpu.nvlink_ports, gpu.power_cap.value());
}

GpuSpec to_spec(const GpuTemplate& gpu) {
  const GpuGeneration& generation = gpu_generation(gpu.generation);
  GpuSpec spec;
  spec.name = describe(gpu);
  spec.vendor = "NVIDIA";
  spec.architecture = generation.architecture;
  spec.process_nm = generation.process_nm;
  spec.sms = gpu.sms;
  spec.fp32_lanes_per_sm = gpu.fp32_lanes_per_sm;
  spec.base_clock = gpu.base_clock;
  spec.boost_clock = gpu.boost_clock;
  spec.matrix_unit = generation.matrix_unit;
  spec.fp32_vector_peak = FlopsPerSec(2.0 * gpu.sms * gpu.fp32_lanes_per_sm * gpu.boost_clock.value());
  const FlopsPerSec matrix(2.0 * gpu.sms * gpu.matrix_fmas_per_sm * gpu.matrix_clock.value());
  const auto set = [&](Dtype dtype, FlopsPerSec peak) { spec.peak[static_cast<std::size_t>(dtype)] = peak; };
  set(Dtype::fp32, spec.fp32_vector_peak);
  set(Dtype::tf32, matrix * generation.tf32_ratio);
  set(Dtype::fp16, matrix);
  set(Dtype::bf16, matrix);
  set(Dtype::fp8, matrix * generation.eight_bit_float_ratio);
  set(Dtype::int8, matrix * generation.int8_ratio);
  set(Dtype::nvfp4, matrix * generation.nvfp4_ratio);
  spec.memory = gpu.stack_capacity * gpu.hbm_stacks;
  spec.memory_type = generation.memory_type;
  spec.memory_bandwidth = gpu.stack_bandwidth * gpu.hbm_stacks;
  spec.l2 = gpu.l2;
  spec.shared_memory_per_sm = generation.shared_memory_per_sm;
  spec.registers_per_sm = generation.registers_per_sm;
  spec.threads_per_sm = generation.threads_per_sm;
  spec.blocks_per_sm = generation.blocks_per_sm;
  spec.nvlink_bandwidth = generation.nvlink_port * gpu.nvlink_ports;
  spec.pcie_bandwidth = generation.pcie;
  spec.power_cap = gpu.power_cap;
  spec.source = "a parametric GPU";
  return spec;
}

}  // namespace tessera
