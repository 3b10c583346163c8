// Properties of the event loop on random programs: coalescing and folding change nothing, bounds hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "sim/base/isolate.hpp"
#include "sim/base/rng.hpp"
#include "sim/trace/binary.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

struct RandomKernel {
  std::uint32_t stream;
  KernelCost cost;
  Seconds release;
  bool observed;
};

struct RandomProgram {
  GpuSpec gpu;
  std::vector<int> priorities;  // per stream
  std::vector<RandomKernel> kernels;
};

/// Streams with gaps, so that the GPU is now alone with one of them, now shared.
RandomProgram random_program(std::uint64_t seed) {
  Rng rng(seed);
  RandomProgram program;
  program.gpu = small_gpu(1 + static_cast<int>(rng.below(40)));
  for (std::uint32_t s = 0; s <= rng.below(4); ++s) program.priorities.push_back(-static_cast<int>(rng.below(2)));
  std::vector<double> release(program.priorities.size(), 0.0);
  for (int k = 0; k < 60; ++k) {
    const auto stream = rng.below(static_cast<std::uint32_t>(program.priorities.size()));
    const int threads = 32 * static_cast<int>(1 + rng.below(32));
    const auto blocks = 1 + static_cast<std::int64_t>(rng.below(400));
    KernelCost cost = grid(program.gpu, blocks, threads, Seconds((1 + 9 * rng.uniform()) * 1e-6));
    if (rng.below(2) == 0) cost.hbm_bytes = program.gpu.memory_bandwidth * cost.time.p50 * rng.uniform();
    if (rng.below(3) == 0) release[stream] += 150e-6 * rng.uniform();
    program.kernels.push_back({stream, cost, Seconds(release[stream]), rng.below(4) == 0});
  }
  return program;
}

std::vector<double> ends_of(const RandomProgram& program, Fidelity fidelity) {
  const std::string bytes = run_isolated([&] {
    BenchGpu bench(program.gpu, fidelity);
    for (const int priority : program.priorities) bench.stream(priority);
    std::size_t seen = 0;
    for (std::uint32_t k = 0; k < program.kernels.size(); ++k) {
      const RandomKernel& kernel = program.kernels[k];
      const std::function<void()> observe = [&seen] { ++seen; };
      bench.launch(kernel.stream, kernel.cost, k, kernel.release, kernel.observed ? observe : nullptr);
    }
    bench.run();
    std::string out;
    for (const double end : bench.ends()) out.append(reinterpret_cast<const char*>(&end), sizeof end);
    return out;
  });
  std::vector<double> ends(bytes.size() / sizeof(double));
  std::memcpy(ends.data(), bytes.data(), bytes.size());
  return ends;
}

constexpr std::uint64_t kPrograms = 60;

TEST(CoalescingProperty, CoalescedEqualsWaveByWave) {
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram program = random_program(seed);
    const auto coalesced = ends_of(program, Fidelity::automatic), waves = ends_of(program, Fidelity::wave);
    ASSERT_EQ(coalesced.size(), program.kernels.size());
    for (std::size_t k = 0; k < waves.size(); ++k) {
      ASSERT_NEAR(coalesced[k] / waves[k], 1.0, 1e-9) << "seed " << seed << ", kernel " << k;
    }
  }
}

// No schedule is shorter than a stream's own kernels one after the other, than the SMs' work over the SMs, or than the
// bytes over the bandwidth.
TEST(BoundsProperty, MakespanIsAtLeastCriticalPathWorkAndTraffic) {
  for (std::uint64_t seed = 100; seed < 100 + kPrograms; ++seed) {
    const RandomProgram program = random_program(seed);
    std::vector<double> path(program.priorities.size(), 0.0);
    double work = 0, traffic = 0;
    for (const RandomKernel& kernel : program.kernels) {
      const DeviceKernel device = device_kernel(kernel.cost, program.gpu);
      double& end = path[kernel.stream];
      end = std::max(end, kernel.release.value()) + device.time().value();
      const auto blocks = static_cast<double>(device.blocks);
      work += blocks / device.blocks_per_sm * device.tile_latency.value();
      traffic += blocks * device.hbm_per_block.value();
    }
    const auto ends = ends_of(program, Fidelity::automatic);
    const double makespan = *std::ranges::max_element(ends) * (1 + 1e-9);
    EXPECT_GE(makespan, *std::ranges::max_element(path)) << seed;
    EXPECT_GE(makespan, work / program.gpu.sms) << seed;
    EXPECT_GE(makespan, traffic / program.gpu.memory_bandwidth.value()) << seed;
  }
}

/// Kernels with sums over tp between them and gradients reduced over dp beside them.
BenchPlan random_training(std::uint64_t seed, int tp, int dp, const ClusterSpec& cluster) {
  Rng rng(seed);
  BenchPlan plan(tp, dp, cluster);
  TaskId last = plan.kernel(Seconds(1e-6));
  std::vector<TaskId> reductions;
  for (int layer = 0; layer < 12; ++layer) {
    for (std::uint32_t k = 0; k <= rng.below(4); ++k) last = plan.kernel(Seconds((2 + 30 * rng.uniform()) * 1e-6));
    if (tp > 1) {
      const TaskId sum = plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(1e7 * rng.uniform()), {last});
      last = plan.kernel(Seconds(5e-6), {sum});
    }
    const CollectiveKind kind = rng.below(2) == 0 ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
    if (dp > 1) reductions.push_back(plan.collective(kind, Dimension::dp, Bytes(4e7 * rng.uniform()), {last}));
  }
  plan.kernel(Seconds(50e-6), reductions);
  return plan;
}

TEST(FoldingProperty, FoldedAgreesWithUnfoldedWithinOnePercent) {
  struct Case {
    int tp, dp, gpus, nodes;
  };
  const std::vector<Case> cases{{2, 1, 2, 1}, {1, 8, 8, 1}, {2, 4, 8, 1}, {4, 2, 8, 1}, {8, 2, 8, 2}, {4, 4, 8, 2},
                                {2, 8, 4, 4}, {8, 3, 8, 3}, {1, 6, 2, 3}, {4, 2, 2, 4}, {1, 6, 4, 2}};
  for (const Case& c : cases) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const BenchPlan plan = random_training(seed, c.tp, c.dp, small_cluster(c.gpus, c.nodes));
      const Trace whole = plan.run_isolated({.fold = Fold::off}), folded = plan.run_isolated({.fold = Fold::on});
      EXPECT_EQ(folded.gpus.size(), 1u);
      EXPECT_EQ(whole.gpus.size(), static_cast<std::size_t>(c.tp * c.dp));
      EXPECT_NEAR(folded.makespan / whole.makespan, 1.0, 0.01)
          << c.tp << "x" << c.dp << " on " << c.nodes << "x" << c.gpus << ", seed " << seed;
      EXPECT_NEAR(folded.gpus[0].exposed_communication / whole.makespan,
                  whole.gpus[0].exposed_communication / whole.makespan, 0.01);
    }
  }
}

// More bandwidth never makes a single job longer (several tenants may see list-scheduling anomalies).
TEST(MonotonyProperty, OneJobIsNotSlowerOnFasterLinks) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    double before = 1e9;
    for (const double speed : {0.5, 1.0, 2.0}) {
      ClusterSpec cluster = small_cluster(4, 2);
      cluster.node.gpu_link *= speed;
      cluster.node.nic_bandwidth *= speed;
      const double makespan = random_training(seed, 4, 2, cluster).run_isolated().makespan.value();
      EXPECT_LE(makespan, before * (1 + 1e-9));
      before = makespan;
    }
  }
}

TEST(DeterminismProperty, SameInputSameBytes) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const BenchPlan plan = random_training(seed, 2, 4, small_cluster(4, 2));
    EXPECT_EQ(to_bytes(plan.run_isolated({.fold = Fold::off})), to_bytes(plan.run_isolated({.fold = Fold::off})));
    EXPECT_EQ(ends_of(random_program(seed), Fidelity::wave), ends_of(random_program(seed), Fidelity::wave));
  }
}

}  // namespace
}  // namespace tessera
