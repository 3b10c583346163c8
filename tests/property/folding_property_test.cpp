// Folded against whole on random plans up to 32 GPUs: rings, trees and switches, pairs inside nodes, beside kernels and
// each other. Left out: pairs between nodes, trees over eight, and a gather beside a tree of its own dimension, whose
// folded time is a lower bound (sim/des/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/rng.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

constexpr int kPlans = 200;
constexpr std::array kKinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                            CollectiveKind::all_to_all};

ClusterSpec random_cluster(Rng& rng) {
  const int gpus = 1 << (1 + rng.below(3)), nodes = 1 << rng.below(3);
  ClusterSpec cluster = small_cluster(gpus, nodes);
  cluster.gpu.architecture = "Hopper GH100";
  cluster.gpu.matrix_unit = rng.below(2) == 0 ? MatrixUnit::wgmma : MatrixUnit::mma_sync;
  cluster.gpu.boost_clock = Hertz(1.98e9);
  return cluster;
}

BenchPlan random_plan(Rng& rng) {
  const ClusterSpec cluster = random_cluster(rng);
  const int tp = 1 << rng.below(4);
  const int inside = std::min(tp, cluster.node.gpus);
  BenchPlan plan(inside, cluster.gpus() / inside, cluster);
  std::vector<TaskId> tasks;
  std::optional<TaskId> last_dp;  // gathers have a line of their own: one after the other here
  const auto count = 3 + rng.below(8);
  for (std::uint32_t t = 0; t < count; ++t) {
    std::vector<TaskId> after;
    if (!tasks.empty() && rng.below(2) == 0)
      after.push_back(tasks[rng.below(static_cast<std::uint32_t>(tasks.size()))]);
    if (rng.below(3) == 0) {
      tasks.push_back(plan.kernel(Seconds(1e-5 * (1 + rng.below(50))), after));
    } else {
      const Dimension over = rng.below(2) == 0 ? Dimension::tp : Dimension::dp;
      const auto kinds = static_cast<std::uint32_t>(kKinds.size() - (over == Dimension::dp ? 1 : 0));
      if (over == Dimension::dp && last_dp) after.push_back(*last_dp);
      tasks.push_back(plan.collective(kKinds[rng.below(kinds)], over, Bytes(1e3 * (1 << rng.below(18))), after));
      if (over == Dimension::dp) last_dp = tasks.back();
    }
  }
  return plan;
}

TEST(Folding, AgreesWithTheWholeOnRandomPlans) {
  SimulationOptions whole{.fold = Fold::off, .cuda_graph = true}, folded{.fold = Fold::on, .cuda_graph = true};
  whole.collectives = folded.collectives = load_collective_parameters();
  Rng rng(2024);
  for (int i = 0; i < kPlans; ++i) {
    const BenchPlan plan = random_plan(rng);
    const Seconds all = plan.run_isolated(whole).makespan, one = plan.run_isolated(folded).makespan;
    if (all == Seconds()) continue;
    EXPECT_NEAR(one / all, 1, 0.01) << "plan " << i << " on " << plan.cluster().nodes << " x "
                                    << plan.cluster().node.gpus;
  }
}

}  // namespace
}  // namespace tessera
