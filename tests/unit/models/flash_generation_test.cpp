#include "models/flash_generation.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// 50-73 % against 25-40 % of A100 (arXiv 2307.08691), 75 % against 35 % of H100 (arXiv 2407.08608).
TEST(FlashGeneration, OldKernelsAreSlowerByTheirPapersShares) {
  const GpuSpec a100 = find_gpu("A100-SXM-80GB"), h100 = find_gpu("H100-SXM-80GB");
  EXPECT_EQ(flash_slowdown(FlashGeneration::newest, h100), 1);
  EXPECT_EQ(flash_slowdown(FlashGeneration::second, a100), 1);
  EXPECT_EQ(flash_slowdown(FlashGeneration::first, find_gpu("B200-SXM-180GB")), 1);
  EXPECT_NEAR(flash_slowdown(FlashGeneration::first, a100), 61.5 / 32.5, 1e-12);
  EXPECT_NEAR(flash_slowdown(FlashGeneration::second, h100), 75.0 / 35.0, 1e-12);
  EXPECT_NEAR(flash_slowdown(FlashGeneration::first, h100), 75.0 / 35.0 * 61.5 / 32.5, 1e-12);
}

TEST(FlashGeneration, OnlyTrainingsAttentionIsSlower) {
  const GpuSpec h100 = find_gpu("H100-SXM-80GB");
  const std::vector<Kernel> kernels{{Op::attention_prefill, Dtype::bf16, AttentionShape{1, 8, 8, 1, 1, 64}},
                                    {Op::add, Dtype::bf16, VectorShape{8, 8}}};
  CostTable costs(2);
  for (KernelCost& cost : costs) cost.time = {Seconds(1), Seconds(2), Seconds(3)};
  use_flash_generation(FlashGeneration::second, h100, kernels, costs);
  EXPECT_NEAR(costs[0].time.p50.value(), 2 * 75.0 / 35.0, 1e-12);
  EXPECT_EQ(costs[1].time.p50, Seconds(2));
}

}  // namespace
}  // namespace tessera
