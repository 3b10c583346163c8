// One GPU: what a kernel takes alone, and the timelines of several, computed by hand.
#include "sim/des/device.hpp"

#include <gtest/gtest.h>

#include "tests/unit/des/bench_gpu.hpp"

namespace tessera {
namespace {

class AloneTest : public testing::TestWithParam<Fidelity> {};

// 2.3 waves of a 132-SM GPU with two blocks per SM: two whole waves and a partial one take three tile latencies.
TEST_P(AloneTest, KernelTakesTheModelsTimePartialWaveIncluded) {
  const GpuSpec gpu = small_gpu(132);
  BenchGpu bench(gpu, GetParam());
  const KernelCost cost = grid(gpu, 607, 1024, Seconds(7.7e-6), Bytes(30e6));
  ASSERT_EQ(cost.waves, 3);
  bench.launch(bench.stream(), cost, 0);
  bench.run();
  EXPECT_NEAR(bench.end(0), cost.time.p50.value(), 1e-9 * cost.time.p50.value());
  EXPECT_NEAR(bench.device().hbm_carried().value(), 30e6, 1);
}

// 1 GB at 3.35 TB/s would take 298 us; the model says 10 us because the data sit in L2, and the model is right.
TEST_P(AloneTest, L2ResidentKernelTakesTheModelsTime) {
  const GpuSpec gpu = small_gpu(132);
  BenchGpu bench(gpu, GetParam());
  bench.launch(bench.stream(), grid(gpu, 132, 1024, Seconds(10e-6), Bytes(1e9)), 0);
  bench.run();
  EXPECT_NEAR(bench.end(0), 10e-6, 1e-9 * 10e-6);
  EXPECT_NEAR(bench.device().hbm_carried().value(), 3.35e12 * 10e-6, 1);
}

TEST_P(AloneTest, KernelsOfAStreamRunOneAfterTheOther) {
  const GpuSpec gpu = small_gpu(132);
  BenchGpu bench(gpu, GetParam());
  const auto stream = bench.stream();
  for (std::uint32_t i = 0; i < 20; ++i) bench.launch(stream, grid(gpu, 100 + i, 512, Seconds(3e-6)), i);
  bench.run();
  EXPECT_NEAR(bench.end(19), 20 * 3e-6, 1e-9 * 60e-6);
  EXPECT_NEAR(bench.start(7), 7 * 3e-6, 1e-9 * 60e-6);
}

// A kernel that is released late leaves the GPU idle, and later ones wait for it.
TEST_P(AloneTest, ReleaseTimesAreKept) {
  const GpuSpec gpu = small_gpu(132);
  BenchGpu bench(gpu, GetParam());
  const auto stream = bench.stream();
  bench.launch(stream, grid(gpu, 132, 1024, Seconds(2e-6)), 0, Seconds(1e-6));
  bench.launch(stream, grid(gpu, 132, 1024, Seconds(2e-6)), 1, Seconds(9e-6));
  bench.launch(stream, grid(gpu, 132, 1024, Seconds(2e-6)), 2);
  bench.run();
  EXPECT_NEAR(bench.end(0), 3e-6, 1e-14);
  EXPECT_NEAR(bench.end(1), 11e-6, 1e-14);
  EXPECT_NEAR(bench.end(2), 13e-6, 1e-14);
}

INSTANTIATE_TEST_SUITE_P(Fidelities, AloneTest, testing::Values(Fidelity::automatic, Fidelity::wave),
                         [](const auto& param) { return param.param == Fidelity::wave ? "wave" : "automatic"; });

// Each half of the GPU asks for 2.0 TB/s and gets 1.675: 20 MB take 11.94 us; alone, one takes its 10 us.
TEST(SharingTest, TwoHalvesShareMemoryBandwidth) {
  const GpuSpec gpu = small_gpu(132);
  BenchGpu bench(gpu);
  const KernelCost half = grid(gpu, 66, 2048, Seconds(10e-6), Bytes(20e6));
  bench.launch(bench.stream(), half, 0);
  bench.launch(bench.stream(), half, 1);
  bench.launch(0, half, 2, Seconds(50e-6));
  bench.run();
  EXPECT_NEAR(bench.end(0), 20e6 / 1.675e12, 1e-14);
  EXPECT_NEAR(bench.end(1), 20e6 / 1.675e12, 1e-14);
  EXPECT_NEAR(bench.end(2), 60e-6, 1e-14);
}

// Kernel B comes in the middle of A's first wave: A has 3 waves of 4 us on all SMs, B one of 4 us. A stays at the head
// until its last block is dispatched at 8 us, so B runs after A's last wave or beside it: A's last wave takes half of
// the GPU, B the other half.
TEST(SharingTest, LateKernelGetsWhatTheLastWaveLeavesOver) {
  const GpuSpec gpu = small_gpu(4);
  BenchGpu bench(gpu);
  bench.launch(bench.stream(), grid(gpu, 10, 2048, Seconds(4e-6)), 0);
  bench.launch(bench.stream(), grid(gpu, 2, 2048, Seconds(4e-6)), 1, Seconds(1e-6));
  bench.run();
  EXPECT_NEAR(bench.end(0), 12e-6, 1e-14);
  EXPECT_NEAR(bench.start(1), 8e-6, 1e-14);
  EXPECT_NEAR(bench.end(1), 12e-6, 1e-14);
}

// The more urgent kernel takes every slot that falls free; running blocks are not stopped. 4 SMs, one block each.
// t=0: A (priority 0, 8 blocks of 4 us) fills the GPU. t=1: B (priority -1, 4 blocks of 3 us) arrives. t=4: A's first
// four blocks end, B takes all four. t=7: B ends, A's last four run until 11.
TEST(SharingTest, MoreUrgentKernelTakesFreedSlots) {
  const GpuSpec gpu = small_gpu(4);
  BenchGpu bench(gpu);
  bench.launch(bench.stream(0), grid(gpu, 8, 2048, Seconds(4e-6)), 0);
  bench.launch(bench.stream(-1), grid(gpu, 4, 2048, Seconds(3e-6)), 1, Seconds(1e-6));
  bench.run();
  EXPECT_NEAR(bench.end(1), 7e-6, 1e-14);
  EXPECT_NEAR(bench.end(0), 11e-6, 1e-14);
}

// Blocks of two kernels that hold more SM shares than there are slow down in proportion: on one SM, A needs 60 % of
// the registers for its one block, B fits four times by its threads and once beside A. Shares 1 + 1/4 on one SM: both
// run at 0.8 of their speed until B ends at 10/0.8 = 12.5 us with 20 - 10 = 10 us of A's work left: 22.5 us.
TEST(SharingTest, OversubscribedSmsSlowDownInProportion) {
  const GpuSpec gpu = small_gpu(1);
  BenchGpu bench(gpu);
  KernelCost a = grid(gpu, 1, 1024, Seconds(20e-6)), b = grid(gpu, 1, 512, Seconds(10e-6));
  a.blocks_per_sm = 1;
  a.footprint.shared_memory = Bytes(60000.0);
  b.footprint.shared_memory = Bytes(25600.0);
  ASSERT_EQ(occupancy(sm_limits(gpu), b.footprint), 4);
  bench.launch(bench.stream(), a, 0);
  bench.launch(bench.stream(), b, 1);
  bench.run();
  EXPECT_NEAR(bench.end(1), 12.5e-6, 1e-12);
  EXPECT_NEAR(bench.end(0), 22.5e-6, 1e-12);
}

}  // namespace
}  // namespace tessera
