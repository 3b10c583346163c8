// The shipped data sheets: that they are all there, and what can be derived from their own figures.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "sim/cluster/gpu.hpp"

namespace tessera {
namespace {

using testing::ElementsAreArray;

bool supports(const GpuSpec& gpu, Dtype dtype) {
  return gpu.peak_of(dtype) > FlopsPerSec();
}

std::vector<GpuSpec> sheets() {
  std::vector<GpuSpec> all;
  for (const std::string& name : known_gpus()) all.push_back(find_gpu(name));
  return all;
}

TEST(GpuSheets, AreExactlyThese) {
  const std::vector<std::string> names{"A10",
                                       "A100-PCIE-40GB",
                                       "A100-PCIE-80GB",
                                       "A100-SXM-80GB",
                                       "A100-SXM4-40GB",
                                       "A30",
                                       "A40",
                                       "B200-SXM-180GB",
                                       "B300-SXM",
                                       "GB200",
                                       "GB300",
                                       "GTX-1080-Ti",
                                       "H100-96GB-500W",
                                       "H100-NVL",
                                       "H100-PCIE-80GB",
                                       "H100-SXM-80GB",
                                       "H20",
                                       "H200-SXM-141GB",
                                       "H800-SXM-80GB",
                                       "L20",
                                       "L4",
                                       "L40",
                                       "L40S",
                                       "MI100",
                                       "MI210",
                                       "MI250",
                                       "MI250X",
                                       "MI300X",
                                       "MI325X",
                                       "P100-PCIE-16GB",
                                       "P4",
                                       "P40",
                                       "RTX-2080-Ti",
                                       "RTX-3090",
                                       "RTX-4090",
                                       "RTX-6000-Ada",
                                       "RTX-A6000",
                                       "RTX-PRO-6000-Server",
                                       "T4",
                                       "Titan-V",
                                       "V100-PCIE-16GB",
                                       "V100-PCIE-32GB",
                                       "V100-SXM2-32GB"};
  EXPECT_THAT(known_gpus(), ElementsAreArray(names));
}

// fp32 without matrix units = SMs x lanes x 2 x boost. Exceptions: H20's sheets state more than its SMs can do at the
// clock that they state; CDNA3 issues two fp32 instructions a clock.
TEST(GpuSheets, VectorPeakFollowsFromLanesAndClock) {
  for (const GpuSpec& gpu : sheets()) {
    if (gpu.name == "H20") continue;
    const double issue = gpu.architecture == "CDNA3" ? 2 : 1;
    const double derived = gpu.sms * gpu.fp32_lanes_per_sm * 2.0 * issue * gpu.boost_clock.value();
    EXPECT_NEAR(gpu.fp32_vector_peak.value() / derived, 1, 0.03) << gpu.name;
  }
}

// A matrix unit does a power of two multiply-adds per clock; sheets quote peaks at up to 15 % below the highest clock.
TEST(GpuSheets, MatrixRatePerClockIsNearAPowerOfTwo) {
  for (const GpuSpec& gpu : sheets()) {
    if (gpu.matrix_unit == MatrixUnit::none) continue;
    const double per_clock = gpu.peak_of(Dtype::fp16).value() / (gpu.sms * gpu.boost_clock.value());
    const double share = per_clock / std::exp2(std::ceil(std::log2(per_clock / 1.02)));
    EXPECT_GE(share, 0.85) << gpu.name << " does " << per_clock;
    EXPECT_LE(share, 1.02) << gpu.name << " does " << per_clock;
  }
}

TEST(GpuSheets, NarrowerTypesAreNotSlower) {
  const std::pair<Dtype, Dtype> orders[] = {{Dtype::fp32, Dtype::tf32}, {Dtype::fp32, Dtype::fp16},
                                            {Dtype::tf32, Dtype::bf16}, {Dtype::bf16, Dtype::fp8},
                                            {Dtype::fp16, Dtype::fp8},  {Dtype::fp8, Dtype::nvfp4}};
  for (const GpuSpec& gpu : sheets()) {
    EXPECT_GE(gpu.peak_of(Dtype::fp32), gpu.fp32_vector_peak) << gpu.name;
    for (const auto& [wide, narrow] : orders) {
      if (!supports(gpu, wide) || !supports(gpu, narrow)) continue;
      EXPECT_LE(gpu.peak_of(wide), gpu.peak_of(narrow)) << gpu.name << ' ' << to_string(wide);
    }
  }
}

TEST(GpuSheets, OnlyAmdMatrixUnitsTakeFp32) {
  for (const GpuSpec& gpu : sheets()) {
    const bool more = gpu.peak_of(Dtype::fp32) > gpu.fp32_vector_peak;
    EXPECT_EQ(more, gpu.architecture == "CDNA1" || gpu.architecture == "CDNA2") << gpu.name;
    EXPECT_EQ(gpu.matrix_unit == MatrixUnit::mfma, gpu.vendor == "AMD") << gpu.name;
  }
}

struct Family {
  std::string_view architecture;  // how it begins
  MatrixUnit unit;
  int lanes, threads, blocks;
  double shared_kib;
  std::set<Dtype> absent;
};

// Compute capabilities 6.0 to 12.0 (CUDA C programming guide, table of technical specifications); CDNA: AMD's ISA
// guides.
const Family kFamilies[] = {
    {"Pascal GP100", MatrixUnit::none, 64, 2048, 32, 64, {Dtype::tf32, Dtype::bf16, Dtype::fp8, Dtype::nvfp4}},
    {"Pascal GP10",
     MatrixUnit::none,
     128,
     2048,
     32,
     96,
     {Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8, Dtype::nvfp4}},
    {"Volta", MatrixUnit::mma_sync, 64, 2048, 32, 96, {Dtype::tf32, Dtype::bf16, Dtype::fp8, Dtype::nvfp4}},
    {"Turing", MatrixUnit::mma_sync, 64, 1024, 16, 64, {Dtype::tf32, Dtype::bf16, Dtype::fp8, Dtype::nvfp4}},
    {"Ampere GA100", MatrixUnit::mma_sync, 64, 2048, 32, 164, {Dtype::fp8, Dtype::nvfp4}},
    {"Ampere GA10", MatrixUnit::mma_sync, 128, 1536, 16, 100, {Dtype::fp8, Dtype::nvfp4}},
    {"Ada", MatrixUnit::mma_sync, 128, 1536, 24, 100, {Dtype::nvfp4}},
    {"Hopper", MatrixUnit::wgmma, 128, 2048, 32, 228, {Dtype::nvfp4}},
    {"Blackwell GB202", MatrixUnit::mma_sync, 128, 1536, 24, 100, {}},
    {"Blackwell", MatrixUnit::tcgen05, 128, 2048, 32, 228, {}},
    {"CDNA1", MatrixUnit::mfma, 64, 2560, 40, 64, {Dtype::tf32, Dtype::fp8, Dtype::nvfp4}},
    {"CDNA2", MatrixUnit::mfma, 64, 2048, 32, 64, {Dtype::tf32, Dtype::fp8, Dtype::nvfp4}},
    {"CDNA3", MatrixUnit::mfma, 64, 2048, 32, 64, {Dtype::nvfp4}},
};

TEST(GpuSheets, SharedWithTheirFamily) {
  for (const GpuSpec& gpu : sheets()) {
    const auto* family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                      [&](const Family& f) { return gpu.architecture.starts_with(f.architecture); });
    ASSERT_NE(family, std::end(kFamilies)) << gpu.name;
    const bool amd = gpu.vendor == "AMD";
    EXPECT_EQ(gpu.matrix_unit, family->unit) << gpu.name;
    EXPECT_EQ(gpu.fp32_lanes_per_sm, family->lanes) << gpu.name;
    EXPECT_EQ(gpu.threads_per_sm, family->threads) << gpu.name;
    EXPECT_EQ(gpu.blocks_per_sm, family->blocks) << gpu.name;
    EXPECT_EQ(gpu.shared_memory_per_sm, Bytes(family->shared_kib * 1024)) << gpu.name;
    EXPECT_EQ(gpu.registers_per_sm, (amd ? 2 : 1) * 65536 * element_size(Dtype::fp32)) << gpu.name;
    EXPECT_EQ(gpu.warp_size, amd ? 64 : 32) << gpu.name;
    for (const Dtype dtype : kDtypes) {
      if (dtype == Dtype::fp32 || dtype == Dtype::int8) continue;
      EXPECT_EQ(supports(gpu, dtype), !family->absent.contains(dtype)) << gpu.name << ' ' << to_string(dtype);
    }
  }
}

// Figures that other descriptions of these parts have wrong.
TEST(GpuSheets, KnownTraps) {
  EXPECT_EQ(find_gpu("P4").sms, 20);
  EXPECT_EQ(find_gpu("L4").sms, 58);
  EXPECT_EQ(find_gpu("H100-SXM-80GB").memory_bandwidth, 3350.0_GBps);
  EXPECT_EQ(find_gpu("H100-SXM-80GB").nvlink_bandwidth, 450.0_GBps);  // one direction
  EXPECT_EQ(find_gpu("MI250").sms, 104);                              // one die of two
  EXPECT_EQ(find_gpu("MI250X").memory, 64.0_GiB);
  EXPECT_EQ(find_gpu("P100-PCIE-16GB").peak_of(Dtype::fp16), 18.7_TFLOPs);  // vector units, twice fp32
}

TEST(GpuSheets, StatePlausibleBoards) {
  for (const GpuSpec& gpu : sheets()) {
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
    const double sweep_ms = (gpu.memory / gpu.memory_bandwidth).value() * 1e3;
    EXPECT_GT(sweep_ms, 15) << gpu.name;  // Titan V 20, L4 86
    EXPECT_LT(sweep_ms, 90) << gpu.name;
    const double machine_balance = (gpu.fp32_vector_peak / gpu.memory_bandwidth).value();
    EXPECT_GT(machine_balance, 9) << gpu.name;  // B200 10, RTX A6000 50, L40S 106
    EXPECT_LT(machine_balance, 110) << gpu.name;
    EXPECT_GE(gpu.power_cap, 70.0_W) << gpu.name;
    EXPECT_LE(gpu.power_cap, 1400.0_W) << gpu.name;
  }
}

}  // namespace
}  // namespace tessera
