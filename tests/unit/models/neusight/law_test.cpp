// NeuSight's arithmetic against numbers made by hand from the paper's formulas.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "models/neusight/law.hpp"

namespace tessera::neusight {
namespace {

constexpr GpuNumbers kGpu{.sms = 10, .gflops = 1000, .memory_gb = 8, .bandwidth_gbs = 100, .l2_mb = 4};
constexpr double kGiga = 1e9, kGib = 1073741824.0, kMib = 1048576.0;

Operation matrix(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.kind = Kind::bmm, .op = Op::bmm, .b = b, .m = m, .n = n, .k = k};
}

TEST(NeuSightLaw, MatrixTilesRoundUpPerBatch) {
  // 3 x ceil(100 / 64) x ceil(65 / 64) = 12 blocks on 10 SMs: two waves.
  const Tiling t = tile_up(matrix(3, 100, 65, 32), {64, 64}, kGpu);
  EXPECT_EQ(t.blocks, 12);
  EXPECT_EQ(t.waves, 2);
  EXPECT_DOUBLE_EQ(t.tile_gflop, 2.0 * 64 * 64 * 32 / kGiga);
  EXPECT_DOUBLE_EQ(t.tile_mib, 4.0 * (64 * 32 + 32 * 64 + 64 * 64) / kMib);
}

TEST(NeuSightLaw, IntensityIsPaddedWorkOverUnpaddedBytesInMixedUnits) {
  const Tiling t = tile_up(matrix(3, 100, 65, 32), {64, 64}, kGpu);
  const double padded = 2.0 * 128 * 32 * 128 / kGiga, bytes = 4.0 * (100 * 32 + 32 * 65 + 100 * 65) / kGib;
  EXPECT_DOUBLE_EQ(t.intensity, padded / bytes);
  EXPECT_DOUBLE_EQ(t.roof_gflops, std::min(1000.0, t.intensity * 100));
}

TEST(NeuSightLaw, TheRoofIsThePeakForBigProducts) {
  EXPECT_DOUBLE_EQ(tile_up(matrix(1, 4096, 4096, 4096), {128, 128}, kGpu).roof_gflops, 1000);
}

TEST(NeuSightLaw, InputsAreLogsOfRatiosToOneSm) {
  const Tiling t = tile_up(matrix(3, 100, 65, 32), {64, 64}, kGpu);
  EXPECT_FLOAT_EQ(t.inputs[0], static_cast<float>(std::log2(t.tile_gflop / (1000.0 / 1000 / 10))));
  EXPECT_FLOAT_EQ(t.inputs[1], static_cast<float>(std::log2(t.tile_mib / (100.0 / 10))));
  EXPECT_FLOAT_EQ(t.inputs[2], static_cast<float>(std::log2(2 * t.tile_mib / (1024.0 * 8 / 10))));
  EXPECT_FLOAT_EQ(t.inputs[3], static_cast<float>(std::log2(2 * t.tile_mib / (1024.0 * 4 / 10))));
}

TEST(NeuSightLaw, VectorsCutEveryRowOnItsOwn) {
  // A row of 600 takes two tiles of 512; 7 rows take 14 blocks.
  const Operation add = vector_operation(Op::add, 7, 600);
  EXPECT_EQ(add.bytes_per_output, 12);
  const Tiling t = tile_up(add, {1, 512}, kGpu);
  EXPECT_EQ(t.blocks, 14);
  EXPECT_EQ(t.waves, 2);
  EXPECT_DOUBLE_EQ(t.tile_mib, 12.0 * 512 / kMib);
  EXPECT_DOUBLE_EQ(t.intensity, 1024 / kGiga / (12.0 * 600 / kGib));
}

TEST(NeuSightLaw, OperationsPerOutput) {
  EXPECT_EQ(vector_operation(Op::softmax, 1, 1).ops_per_output, 5);
  EXPECT_EQ(vector_operation(Op::layernorm, 1, 1).ops_per_output, 6);
  EXPECT_EQ(vector_operation(Op::relu, 1, 1).ops_per_output, 1);
  EXPECT_EQ(vector_operation(Op::relu, 1, 1).bytes_per_output, 8);
}

TEST(NeuSightLaw, UtilisationFallsByAOverWaves) {
  const std::array<float, 3> zero{0, 7, 0};  // a = g = 1/2; the second output is not used
  EXPECT_DOUBLE_EQ(utilisation(zero, 4), 0.5 - 0.5 / 4);
  EXPECT_DOUBLE_EQ(utilisation(zero, 1), 0);
}

TEST(NeuSightLaw, TimeIsWavesTimesTileOverTheUsedRoof) {
  const Tiling t = tile_up(matrix(3, 100, 65, 32), {64, 64}, kGpu);
  EXPECT_DOUBLE_EQ(law_time(t, kGpu, 0.25).value(), 2 * t.tile_gflop * 10 / (t.roof_gflops * 0.25));
  EXPECT_EQ(law_time(t, kGpu, 0).value(), 0);
  EXPECT_EQ(law_time(t, kGpu, -0.1).value(), 0);
}

TEST(NeuSightLaw, TransfersTakeGigabytesOfTwoToTheThirty) {
  EXPECT_DOUBLE_EQ(transfer_time(Bytes(kGib), kGpu).value(), 0.01);
}

TEST(NeuSightLoss, IsTheRelativeDifferenceOfTimes) {
  // u = 1/2 - 1/8 = 3/8, p = ideal / u = 8; y = 24: |24 - 8| / 32.
  const std::array<float, 3> zero{};
  std::array<float, 3> slope{};
  EXPECT_NEAR(smape(Seconds(24), Seconds(3), 4, zero, slope), 0.5, 1e-12);
  EXPECT_EQ(slope[1], 0);
}

TEST(NeuSightLoss, SlopeMatchesADifferenceQuotient) {
  for (const double measured : {0.5, 24.0}) {
    const std::array<float, 3> at{0.3F, 0, -0.2F};
    std::array<float, 3> slope{}, unused{};
    smape(Seconds(measured), Seconds(3), 4, at, slope);
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
      std::array<float, 3> up = at, down = at;
      up[i] += 0.01F;
      down[i] -= 0.01F;
      const double rise =
          smape(Seconds(measured), Seconds(3), 4, up, unused) - smape(Seconds(measured), Seconds(3), 4, down, unused);
      EXPECT_NEAR(slope[i], rise / 0.02, 1e-3);
    }
  }
}

TEST(NeuSightLoss, NoUtilisationIsTheWorstLossAndStillHasASlope) {
  const std::array<float, 3> zero{};  // one wave: u = 0, an infinite time
  std::array<float, 3> slope{};
  EXPECT_NEAR(smape(Seconds(2), Seconds(3), 1, zero, slope), 1, 1e-12);
  EXPECT_LT(slope[2], 0);  // more utilisation helps
}

}  // namespace
}  // namespace tessera::neusight
