// Collectives as NCCL does them, on links that nothing else uses: the closed form; and what every link carries.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "models/collectives/tuner.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

using testing::Combine;
using testing::Values;

ClusterSpec hopper(int nodes) {
  ClusterSpec cluster = small_cluster(8, nodes);
  cluster.gpu.architecture = "Hopper GH100";
  cluster.gpu.matrix_unit = MatrixUnit::wgmma;
  cluster.gpu.boost_clock = Hertz(1.98e9);
  return cluster;
}

SimulationOptions as_nccl(Fold fold) {
  SimulationOptions options{.fold = fold, .cuda_graph = true};
  options.collectives = load_collective_parameters();
  return options;
}

std::vector<int> first(int n) {
  std::vector<int> gpus(static_cast<std::size_t>(n));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

class NcclTest : public testing::TestWithParam<std::tuple<CollectiveKind, double, int, Fold>> {};

TEST_P(NcclTest, TakesTheClosedFormAlone) {
  const auto [kind, bytes, nodes, fold] = GetParam();
  const ClusterSpec cluster = hopper(nodes);
  const int n = 8 * nodes;
  BenchPlan plan(1, n, cluster);
  plan.collective(kind, Dimension::dp, Bytes(bytes));
  const Trace trace = plan.run_isolated(as_nccl(fold));
  const CollectiveCost cost = CollectiveModel(load_collective_parameters())
                                  .cost(kind, Bytes(bytes), shape_of(first(n), kind, cluster, Topology(cluster)));
  EXPECT_NEAR(trace.makespan / cost.time, 1.0, 1e-6) << to_string(cost.algorithm);
}

// Rings, LL to Simple; NVLS in one node; trees and NVLS with trees over several.
INSTANTIATE_TEST_SUITE_P(Collectives, NcclTest,
                         Combine(Values(CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                        CollectiveKind::reduce_scatter),
                                 Values(1e3, 3e5, 1e9), Values(1, 2, 4), Values(Fold::off, Fold::on)));

// All-to-all inside a node.
TEST(NcclPairsTest, TakeTheClosedFormAlone) {
  const ClusterSpec cluster = hopper(1);
  BenchPlan plan(8, 1, cluster);
  plan.collective(CollectiveKind::all_to_all, Dimension::tp, Bytes(1e8));
  const CollectiveCost cost = CollectiveModel(load_collective_parameters())
                                  .cost(CollectiveKind::all_to_all, Bytes(1e8),
                                        shape_of(first(8), CollectiveKind::all_to_all, cluster, Topology(cluster)));
  for (const Fold fold : {Fold::off, Fold::on})
    EXPECT_NEAR(plan.run_isolated(as_nccl(fold)).makespan / cost.time, 1.0, 1e-6);
}

// Links carry what the flows over them do: of every algorithm, by its flows.
TEST(NcclBytesTest, OfEveryLinkAddUp) {
  for (const double bytes : {1e3, 1e9}) {
    for (const int nodes : {1, 4}) {
      const ClusterSpec cluster = hopper(nodes);
      const Topology topology(cluster);
      const auto gpus = first(8 * nodes);
      BenchPlan plan(1, 8 * nodes, cluster);
      plan.collective(CollectiveKind::all_reduce, Dimension::dp, Bytes(bytes));
      const CollectiveCost cost = CollectiveModel(load_collective_parameters())
                                      .cost(CollectiveKind::all_reduce, Bytes(bytes),
                                            shape_of(gpus, CollectiveKind::all_reduce, cluster, topology));
      std::map<std::string, double> expected;
      for (const Flow& flow : flows_of(cost.algorithm, gpus, cluster, topology)) {
        for (const FlowLink& link : flow.links) {
          expected[topology.links()[static_cast<std::size_t>(link.id)].name] +=
              flow.share *
              collective_volume(cost.algorithm, CollectiveKind::all_reduce, 8 * nodes, Bytes(bytes)).value();
        }
      }
      const Trace trace = plan.run_isolated(as_nccl(Fold::off));
      EXPECT_EQ(trace.links.size(), expected.size());
      for (const LinkUse& link : trace.links)
        EXPECT_NEAR(link.carried.value() / expected.at(link.name), 1, 1e-9) << link.name;
    }
  }
}

// A GPU at 0.8 of the speed: everyone waits for it at the collective, and its twins are folded.
TEST(StragglerTest, SetsThePaceOfTheStep) {
  ClusterSpec cluster = small_cluster(4);
  cluster.gpu_speeds = {{2, 0.8}};
  BenchPlan plan(1, 4, cluster);
  const TaskId kernel = plan.kernel(Seconds(80e-6));
  plan.collective(CollectiveKind::all_reduce, Dimension::dp, Bytes(450e3), {kernel});
  const Trace trace = plan.run_isolated(kGraphFolded);
  EXPECT_EQ(trace.folded, 2u);  // it, and one for the three others
  EXPECT_NEAR(trace.makespan.value(), 100e-6 + 450e3 * 1.5 / 450e9 + 6 * 0.8e-6, 1e-11);
}

// A NIC at half of its rate doubles the time of a ring through it; one that is down stops the run and says so.
TEST(LinkHealthTest, WeakAndDeadLinks) {
  ClusterSpec cluster = small_cluster(2, 2);
  const auto time = [](const ClusterSpec& on) {
    BenchPlan plan(1, 4, on);
    plan.collective(CollectiveKind::all_gather, Dimension::dp, Bytes(4e9));
    return plan.run_isolated(kGraphUnfolded).makespan;
  };
  const Seconds whole = time(cluster);
  cluster.links = {{"node0/nic1/out", 0.5}};
  EXPECT_NEAR(time(cluster) / whole, 2, 1e-3);
  cluster.links = {{"node0/nic1/*", 0}};
  try {
    (void)time(cluster);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("link node0/nic1/"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("there is no way around"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera
