// Tiles, blocks and waves of matrix multiplications by formula.
#include "models/gemm_tiles.hpp"

#include <gtest/gtest.h>

#include "models/occupancy.hpp"

namespace tessera {
namespace {

const Device& h100() {
  static const Device kDevice = derive_device(find_gpu("H100-SXM-80GB"));
  return kDevice;
}

GemmContext context(MatrixUnit unit = MatrixUnit::wgmma) {
  return {.rate = h100().sustained_of(Dtype::bf16), .unit = unit, .element = 2, .hbm_bytes = Bytes(1e6)};
}

TEST(GemmTiles, BlocksArePaddedTilesTimesBatchTimesSlices) {
  const GemmShape shape{.batch = 3, .m = 1000, .n = 200, .k = 4096};
  const GemmPlan plan = plan_gemm(shape, {.m = 128, .n = 64}, 4, context(), h100());
  EXPECT_EQ(plan.tiles_m, 8);  // ceil(1000 / 128)
  EXPECT_EQ(plan.tiles_n, 4);  // ceil(200 / 64)
  EXPECT_EQ(plan.blocks, 3 * 8 * 4 * 4);
  EXPECT_DOUBLE_EQ(plan.executed.value(), 3.0 * 2 * (8 * 128) * (4 * 64) * 4096);
}

TEST(GemmTiles, TheBusiestSmDecides) {
  // One tile column: as many tiles as m / 128. 132 SMs: 132 tiles take one round, 133 take two.
  GemmContext c = context();
  c.hbm_bytes = Bytes(1);
  c.constants.l2_share = 1e6;  // compute alone
  const auto compute = [&](std::int64_t tiles) {
    return plan_gemm({.m = 128 * tiles, .n = 128, .k = 4096}, {.m = 128, .n = 128}, 1, c, h100()).compute;
  };
  EXPECT_EQ(compute(1), compute(132));
  EXPECT_DOUBLE_EQ(compute(133) / compute(132), 2);
  EXPECT_DOUBLE_EQ(compute(10 * 132) / compute(132), 10);
}

TEST(GemmTiles, SplitKFillsAnEmptyGpuAndPaysForItsReduction) {
  const GemmShape shape{.m = 128, .n = 128, .k = 65536};
  const GemmTile tile{.m = 128, .n = 128};
  const GemmPlan whole = plan_gemm(shape, tile, 1, context(), h100());
  const GemmPlan split = plan_gemm(shape, tile, 16, context(), h100());
  EXPECT_LT(split.compute, whole.compute);
  EXPECT_EQ(whole.reduction.value(), 0);
  EXPECT_GT(split.reduction.value(), 0);
  EXPECT_GT(choose_gemm(shape, context(), h100()).split_k, 1);
  GemmContext unsplit = context();
  unsplit.split_k = false;
  EXPECT_EQ(choose_gemm(shape, unsplit, h100()).split_k, 1);
}

TEST(GemmTiles, TheChoiceIsTheFastestCandidate) {
  const GemmShape shape{.m = 777, .n = 3000, .k = 1234};
  const GemmPlan chosen = choose_gemm(shape, context(), h100());
  for (const GemmTile& tile : gemm_tiles(MatrixUnit::wgmma, h100().spec, false)) {
    EXPECT_LE(chosen.time, plan_gemm(shape, tile, 1, context(), h100()).time);
  }
}

TEST(GemmTiles, PascalReachesItsShareOfPeakByTheTile) {
  // NeuSight's P100 in two sessions: 0.64 and 0.74 with 128 x 32, 0.80 and 0.89 with 64 x 128. P4's power binds before
  // either.
  const auto share = [](const char* gpu, const GemmTile& tile) {
    const Device device = derive_device(find_gpu(gpu));
    const GemmContext c{.rate = device.sustained_of(Dtype::fp32),
                        .uncapped = device.uncapped_of(Dtype::fp32),
                        .hbm_bytes = Bytes(1),
                        .constants = {.tile_cycles = 0, .l2_share = 1e6}};
    const GemmPlan plan =
        plan_gemm({.m = 128 * 7 * 40, .n = 128 * 32, .k = 4096, .layout = GemmLayout::nn}, tile, 1, c, device);
    return plan.executed / plan.compute / device.spec.peak_of(Dtype::fp32);
  };
  EXPECT_NEAR(share("P100-PCIE-16GB", {.m = 128, .n = 32}), 0.69, 0.05);
  EXPECT_NEAR(share("P100-PCIE-16GB", {.m = 64, .n = 128}), 0.845, 0.045);
  EXPECT_LT(share("P4", {.m = 64, .n = 128}), 0.7);
  for (const bool batched : {false, true}) {
    for (const GemmTile& tile : gemm_tiles(MatrixUnit::none, find_gpu("P4"), batched))
      EXPECT_LE(tile.m * tile.n, 64 * 128);
  }
}

TEST(GemmTiles, APowerCapBindsBusySmsAlone) {
  GemmContext c = context();
  c.hbm_bytes = Bytes(1);
  c.constants.l2_share = 1e6;  // compute alone
  const auto compute = [&](std::int64_t tiles, double uncapped) {
    c.uncapped = c.rate * uncapped;
    return plan_gemm({.m = 128 * tiles, .n = 128, .k = 1 << 20}, {.m = 128, .n = 128}, 1, c, h100()).compute;
  };
  EXPECT_EQ(compute(132, 1.5), compute(132, 0));                        // all 132 SMs: the sustained rate
  EXPECT_NEAR(compute(1, 0) / compute(1, 1.5), 1.5, 1e-3);              // one SM: its share of peak
  EXPECT_NEAR(compute(110, 0) / compute(110, 1.5), 132.0 / 110, 1e-3);  // between: the board's power, shared
}

TEST(GemmTiles, ScaledResultsCostCyclesOfTheirSm) {
  GemmContext c = context();
  c.constants.visit_cycles = 0.5;
  const GemmShape shape{.m = 128 * 132 * 3, .n = 128, .k = 64};
  const GemmTile tile{.m = 128, .n = 128};
  const Seconds plain = plan_gemm(shape, tile, 1, c, h100()).compute;
  c.visited = true;
  const Seconds scaled = plan_gemm(shape, tile, 1, c, h100()).compute;
  EXPECT_NEAR((scaled - plain) * h100().spec.boost_clock, 3 * 0.5 * 128 * 128, 1e-6);
}

TEST(GemmTiles, EveryTileFitsOnItsGpu) {
  for (const std::string& name : known_gpus()) {
    const GpuSpec gpu = find_gpu(name);
    for (const MatrixUnit unit : {MatrixUnit::none, gpu.matrix_unit}) {
      for (const bool batched : {false, true}) {
        const auto tiles = gemm_tiles(unit, gpu, batched);
        ASSERT_FALSE(tiles.empty());
        for (const GemmTile& tile : tiles) {
          const BlockFootprint block = footprint(tile);
          EXPECT_LE(block.threads, 1024);
          EXPECT_LE(block.threads * block.registers_per_thread * 4.0, gpu.registers_per_sm.value())
              << name << " " << tile.m << "x" << tile.n;
        }
      }
    }
  }
}

TEST(Occupancy, TheScarcestResourceDecides) {
  const GpuSpec gpu = find_gpu("A100-PCIE-80GB");  // 2048 threads, 256 KiB registers, 164 KiB shared, 32 blocks
  EXPECT_EQ(resident_blocks(gpu, {.threads = 32, .registers_per_thread = 16, .shared_memory = Bytes(0)}), 32);
  EXPECT_EQ(resident_blocks(gpu, {.threads = 512, .registers_per_thread = 16, .shared_memory = Bytes(0)}), 4);
  EXPECT_EQ(resident_blocks(gpu, {.threads = 256, .registers_per_thread = 128, .shared_memory = Bytes(0)}), 2);
  EXPECT_EQ(resident_blocks(gpu, {.threads = 128, .registers_per_thread = 32, .shared_memory = 50.0_KiB}), 3);
  EXPECT_EQ(resident_blocks(gpu, {.threads = 128, .registers_per_thread = 32, .shared_memory = 500.0_KiB}), 1);
}

}  // namespace
}  // namespace tessera
