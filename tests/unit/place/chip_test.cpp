// The systolic template: areas, its space, energies.
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/place/chip/space.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {
namespace {

TEST(SystolicChip, AreasOfBaselinesArePublished) {
  // mm^2, from the area column of the public runs.
  EXPECT_NEAR(area(baseline_chip("TPUv4-like")).value(), 278.826676312, 1e-8);
  EXPECT_NEAR(area(baseline_chip("TPUv3-like")).value(), 98.558244039, 1e-8);
  EXPECT_NEAR(area(baseline_chip("TPUv2-like")).value(), 72.760077903, 1e-8);
  EXPECT_NEAR(area(baseline_chip("v6-like")).value(), 278.518529952, 1e-8);
  EXPECT_NEAR(area(baseline_chip("v7-like")).value(), 555.555059904, 1e-8);
}

TEST(SystolicChip, AreaIsLinearInCores) {
  SystolicChip chip{
      .tensor_cores = 1, .vector_cores = 1, .width = 64, .depth = 32, .lanes = 64, .buffer = Bytes(8388608)};
  const Area one = area(chip);
  chip.tensor_cores = 2;
  const Area core = area(chip) - one;
  chip.tensor_cores = 7;
  EXPECT_NEAR(area(chip) / (one + core * 6), 1, 1e-12);
}

TEST(SystolicChip, BuffersBetweenTheTabulatedSizesLieBetweenTheirAreas) {
  SystolicChip chip{.width = 8, .depth = 8, .lanes = 8, .buffer = Bytes(32 * 1048576.0)};
  const Area small = area(chip);
  chip.buffer = Bytes(64 * 1048576.0);
  const Area large = area(chip);
  chip.buffer = Bytes(40 * 1048576.0);
  EXPECT_GT(area(chip), small);
  EXPECT_LT(area(chip), large);
}

TEST(SystolicChip, StacksTakeEdgeAndAreaAndGiveBandwidth) {
  SystolicChip chip = baseline_chip("TPUv4-like");
  EXPECT_DOUBLE_EQ(hbm_bandwidth(chip).value(), 128 * 2 * 1.05e9);
  const Area without = area(chip);
  chip.hbm_stacks = 4;
  EXPECT_DOUBLE_EQ(hbm_bandwidth(chip).value(), 1200e9);  // TPUv4's
  EXPECT_GT(area(chip), without);
  EXPECT_LT(beachfront_ratio(chip), 1);
  chip.hbm_stacks = 8;
  EXPECT_GT(beachfront_ratio(chip), 1);
}

TEST(SystolicChip, EnergiesAreTheLogsWhereItHasThem) {
  const SystolicEnergy big = energy(baseline_chip("v7-like"));
  EXPECT_NEAR(big.sram_word.value(), 26.758944e-12, 1e-20);
  EXPECT_NEAR(big.buffer_word.value(), 440.881294e-12, 1e-20);
  SystolicChip between = baseline_chip("TPUv3-like");
  between.buffer = Bytes(64 * 1048576.0);
  EXPECT_NEAR(energy(between).buffer_word.value(), std::sqrt(155.924294e-12 * 316.129794e-12), 1e-18);
}

TEST(SystolicChip, DescribesItself) {
  SystolicChip chip = baseline_chip("TPUv4-like");
  EXPECT_EQ(describe(chip), "8x128x128 + 2x128, 128 MiB");
  chip.hbm_stacks = 4;
  EXPECT_EQ(describe(chip), "8x128x128 + 2x128, 128 MiB, 4 HBM");
}

TEST(ChipSpace, PhazesHas29360Chips) {
  const std::vector<SystolicChip> chips = enumerate(phaze_space());
  ASSERT_EQ(chips.size(), 29360u);
  std::set<std::tuple<int, int, int, double>> tensor;
  std::set<std::tuple<int, int, double>> vector;
  Area smallest = area(chips.front()), largest = smallest;
  for (const SystolicChip& c : chips) {
    tensor.insert({c.tensor_cores, c.width, c.depth, c.buffer.value()});
    vector.insert({c.vector_cores, c.lanes, c.buffer.value()});
    smallest = std::min(smallest, area(c));
    largest = std::max(largest, area(c));
  }
  EXPECT_EQ(tensor.size(), 4186u);
  EXPECT_EQ(vector.size(), 697u);
  EXPECT_NEAR(smallest.value(), 3.36, 0.005);
  EXPECT_EQ(largest, phaze_space().area_limit);  // the TPUv4-like chip is in it
}

TEST(ChipSpace, LargestCountsComeFirst) {
  const std::vector<SystolicChip> chips = enumerate(phaze_space());
  const auto key = [](const SystolicChip& c) {
    return std::tuple(c.tensor_cores, c.vector_cores, c.width, c.depth, c.buffer.value());
  };
  for (std::size_t i = 1; i < chips.size(); ++i) EXPECT_GT(key(chips[i - 1]), key(chips[i]));
}

TEST(ChipSpace, AnEmptyGridOrLimitIsEmpty) {
  ChipSpace space = phaze_space();
  space.area_limit = Area(1);
  EXPECT_TRUE(enumerate(space).empty());
}

}  // namespace
}  // namespace tessera
