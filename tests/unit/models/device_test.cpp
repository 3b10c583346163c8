// Rates derived from data sheets: bounds, physics, and published figures.
#include "models/device.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class EveryGpu : public testing::TestWithParam<std::string> {};

TEST_P(EveryGpu, SustainsLessThanItsDataSheetAndMoreThanNothing) {
  const Device device = derive_device(find_gpu(GetParam()));
  for (Dtype dtype : kDtypes) {
    const FlopsPerSec peak = device.spec.peak_of(dtype), sustained = device.sustained_of(dtype);
    EXPECT_LE(sustained.value(), peak.value()) << to_string(dtype);
    EXPECT_EQ(sustained.value() > 0, peak.value() > 0) << to_string(dtype);
    EXPECT_LE(sustained, device.uncapped_of(dtype)) << to_string(dtype);
    EXPECT_LE(device.uncapped_of(dtype), peak) << to_string(dtype);
    // What the FLOPs alone draw stays inside the power cap.
    const auto energy = device.energy_per_flop[static_cast<std::size_t>(dtype)];
    EXPECT_LE((energy * sustained).value(), device.spec.power_cap.value()) << to_string(dtype);
  }
  EXPECT_LT(device.hbm, device.spec.memory_bandwidth);
  EXPECT_GT(device.l2, device.hbm);
  EXPECT_GT(device.energy_per_byte.value(), 0);
  EXPECT_LT(device.idle, device.spec.power_cap);
}
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryGpu, testing::ValuesIn(known_gpus()), [](const auto& row) {
  std::string name = row.param;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
});

TEST(Device, MorePowerNeverSlowsIt) {
  GpuSpec gpu = find_gpu("L40S");
  FlopsPerSec before;
  for (double watts : {50.0, 100.0, 200.0, 350.0, 700.0, 1400.0}) {
    gpu.power_cap = Watts(watts);
    const FlopsPerSec now = derive_device(gpu).sustained_of(Dtype::bf16);
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_DOUBLE_EQ(before / gpu.peak_of(Dtype::bf16), 0.85);  // in the end the peak binds
}

TEST(Device, AWiderMatrixUnitDoesMorePerWatt) {
  GpuSpec narrow = find_gpu("H100-SXM-80GB"), wide = narrow;
  for (FlopsPerSec& peak : wide.peak) peak *= 2;
  narrow.power_cap = wide.power_cap = Watts(100);  // power binds
  EXPECT_NEAR(derive_device(wide).sustained_of(Dtype::bf16) / derive_device(narrow).sustained_of(Dtype::bf16),
              std::pow(2, 0.42), 1e-9);
}

/// Best bf16 matmul found by search over shapes (stas00/ml-engineering, MAMF tables, CC-BY-SA-4.0).
struct Published {
  const char* gpu;
  double tflops;
};
class Mamf : public testing::TestWithParam<Published> {};
TEST_P(Mamf, SustainedIsNearTheBestFound) {
  const FlopsPerSec sustained = derive_device(find_gpu(GetParam().gpu)).sustained_of(Dtype::bf16);
  EXPECT_GT(sustained.value() * 1e-12 / GetParam().tflops, 0.80);
  EXPECT_LT(sustained.value() * 1e-12 / GetParam().tflops, 1.10);
}
INSTANTIATE_TEST_SUITE_P(Published, Mamf,
                         testing::Values(Published{"A100-SXM-80GB", 271.2}, Published{"A100-PCIE-80GB", 252.9},
                                         Published{"H100-SXM-80GB", 794.5}, Published{"B200-SXM-180GB", 1745},
                                         Published{"B300-SXM", 1769}, Published{"GB200", 1822},
                                         Published{"MI300X", 668.4}, Published{"MI325X", 784.9}));

/// Median of large fp32 GEMMs, TFLOP/s (NeuSight's measured linear and bmm, rows aligned to 4 elements; P4 between its
/// two sessions, 3.4 and 4.2; P100 between linear, 6.8, and bmm, 7.9).
class Fp32 : public testing::TestWithParam<Published> {};
TEST_P(Fp32, SustainedIsNearLargeGemms) {
  const FlopsPerSec sustained = derive_device(find_gpu(GetParam().gpu)).sustained_of(Dtype::fp32);
  EXPECT_NEAR(sustained.value() * 1e-12 / GetParam().tflops, 1.0, 0.08);
}
INSTANTIATE_TEST_SUITE_P(Published, Fp32,
                         testing::Values(Published{"T4", 3.9}, Published{"P4", 3.8}, Published{"P100-PCIE-16GB", 7.4},
                                         Published{"V100-PCIE-32GB", 13.6}, Published{"A100-PCIE-40GB", 16.2},
                                         Published{"A100-PCIE-80GB", 17.8}));

TEST(Device, KnowsWhoMultiplies) {
  const Device h100 = derive_device(find_gpu("H100-SXM-80GB")), p100 = derive_device(find_gpu("P100-PCIE-16GB")),
               mi210 = derive_device(find_gpu("MI210"));
  EXPECT_FALSE(h100.on_matrix_unit(Dtype::fp32));
  EXPECT_TRUE(h100.on_matrix_unit(Dtype::tf32));
  EXPECT_FALSE(p100.on_matrix_unit(Dtype::fp16));
  EXPECT_TRUE(mi210.on_matrix_unit(Dtype::fp32));
  // AMD's white paper: 256 FLOP per clock and CU in fp32 matrix.
  EXPECT_NEAR(mi210.fma_per_clock(Dtype::fp32), 128, 1);
}

}  // namespace
}  // namespace tessera
