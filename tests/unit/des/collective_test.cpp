// Collectives as flows against their closed forms.
#include "sim/des/collective.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/collectives/ring.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

using testing::Combine;
using testing::Values;

class RingTest : public testing::TestWithParam<std::tuple<CollectiveKind, double, Fold>> {};

// On an NVSwitch every hop is alone on its links: the closed form holds for n = 2..8.
TEST_P(RingTest, TakesTheClosedForm) {
  const auto [kind, bytes, fold] = GetParam();
  for (int n = 2; n <= 8; ++n) {
    BenchPlan plan(n, 1, small_cluster(8));
    plan.collective(kind, Dimension::tp, Bytes(bytes));
    const Trace trace = plan.run_isolated({.fold = fold, .cuda_graph = true});
    const Seconds expected = ring_time(kind, n, Bytes(bytes), BytesPerSec(450e9), Seconds(0.8e-6));
    EXPECT_NEAR(trace.makespan / expected, 1.0, 1e-6) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, RingTest,
                         Combine(Values(CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                        CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                        CollectiveKind::send_recv),
                                 Values(1e3, 1e6, 1e9), Values(Fold::off, Fold::on)));

// Two nodes of four: four rings, each leaving a node by another NIC, so a NIC carries a quarter of what a rank sends
// (14/8 of the bytes), at 50 GB/s. NVLink carries three quarters, at 450 GB/s, which is faster.
TEST(RingsAcrossNodesTest, UseEveryNic) {
  BenchPlan plan(1, 8, small_cluster(4, 2));
  plan.collective(CollectiveKind::all_reduce, Dimension::dp, Bytes(1e9));
  const Trace trace = plan.run(kGraphUnfolded);
  const double flow = 1e9 * 14 / 8 / 4 / 50e9;
  EXPECT_GT(trace.makespan.value(), flow);
  EXPECT_LT(trace.makespan.value(), flow + 14 * 10e-6);  // 14 steps of a few hops each
  int nics = 0;
  for (const LinkUse& link : trace.links) {
    if (link.name.find("/nic") == std::string::npos) continue;
    ++nics;
    EXPECT_NEAR(link.carried.value(), 1e9 * 14 / 8 / 4, 1) << link.name;
  }
  EXPECT_EQ(nics, 16);  // eight NICs, out and in
}

// Nodes with unequally many members have one ring, through all of them.
TEST(RingsAcrossNodesTest, OneRingWhereNodesDiffer) {
  const Topology topology(small_cluster(4, 2));
  const std::vector<int> gpus{0, 1, 2, 4};
  EXPECT_EQ(rings_through(gpus, 4, topology), (std::vector<std::vector<int>>{{0, 1, 2, 4}}));
}

TEST(RingsAcrossNodesTest, EachEntersAndLeavesOnItsRail) {
  const Topology topology(small_cluster(4, 2));
  const std::vector<int> gpus{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(
      rings_through(gpus, 4, topology),
      (std::vector<std::vector<int>>{
          {0, 1, 2, 3, 7, 6, 5, 4}, {1, 2, 3, 0, 4, 7, 6, 5}, {2, 3, 0, 1, 5, 4, 7, 6}, {3, 0, 1, 2, 6, 5, 4, 7}}));
}

// Four GPUs of a node on two NICs: each NIC carries two quarters of what a rank sends. The rank that stands for all has
// half of its NIC, and the trace counts the bytes of both.
TEST(FoldingTest, SharedLinksAreDividedAndTheirBytesCountedOnce) {
  ClusterSpec cluster = small_cluster(4, 2);
  cluster.node.nics = 2;
  BenchPlan plan(1, 8, cluster);
  plan.collective(CollectiveKind::all_gather, Dimension::dp, Bytes(8e9));
  const Trace whole = plan.run_isolated(kGraphUnfolded), folded = plan.run_isolated(kGraphFolded);
  EXPECT_NEAR(folded.makespan / whole.makespan, 1.0, 1e-9);
  EXPECT_NEAR(whole.makespan.value(), 7e9 / 4 * 2 / 50e9, 1e-3 * whole.makespan.value());
  int compared = 0;
  for (const LinkUse& link : folded.links) {
    if (link.name.find("node0/nic0") == std::string::npos) continue;
    ++compared;
    const auto same = std::ranges::find(whole.links, link.name, &LinkUse::name);
    ASSERT_NE(same, whole.links.end());
    EXPECT_NEAR(link.carried / same->carried, 1.0, 1e-9) << link.name;
    EXPECT_NEAR(link.carried.value(), 7e9 / 2, 1) << link.name;
  }
  EXPECT_GE(compared, 1);
}

// Both collectives leave the node through NICs that two GPUs share: 2 x 2 flows, and the folded ones wait for each
// other as the whole ones do.
TEST(FoldingTest, SharedLinksAreContendedForAsInTheWhole) {
  ClusterSpec cluster = small_cluster(2, 4);
  cluster.node.nics = 1;
  BenchPlan plan(4, 2, cluster);
  plan.collective(CollectiveKind::all_gather, Dimension::tp, Bytes(1e9));
  plan.collective(CollectiveKind::all_gather, Dimension::dp, Bytes(2e9));
  const Trace whole = plan.run_isolated(kGraphUnfolded), folded = plan.run_isolated(kGraphFolded);
  EXPECT_NEAR(folded.makespan / whole.makespan, 1.0, 0.01);
}

// One ring through a node of four and two of another: rank 0 sends over NVLink, yet all wait for the NIC.
TEST(FoldingTest, TheSlowestRankSetsThePace) {
  BenchPlan plan(1, 6, small_cluster(4, 2));
  plan.collective(CollectiveKind::all_gather, Dimension::dp, Bytes(6e9));
  const Trace whole = plan.run_isolated(kGraphUnfolded), folded = plan.run_isolated(kGraphFolded);
  EXPECT_NEAR(folded.makespan / whole.makespan, 1.0, 1e-9);
  EXPECT_NEAR(whole.makespan.value(), 5e9 / 50e9, 1e-3 * whole.makespan.value());
}

// Two collectives over the same links at the same time take as long as their bytes together.
TEST(ContentionTest, CollectivesOfTwoDimensionsShareLinks) {
  BenchPlan both(2, 2, small_cluster(4));
  both.collective(CollectiveKind::all_gather, Dimension::tp, Bytes(2e9));
  both.collective(CollectiveKind::all_gather, Dimension::dp, Bytes(2e9));
  for (const Fold fold : {Fold::off, Fold::on}) {
    const Trace trace = both.run_isolated({.fold = fold, .cuda_graph = true});
    EXPECT_NEAR(trace.makespan.value(), 2e9 / 450e9 + 0.8e-6, 1e-9);
  }
}

// The sum over tp alone is a date; where a gather over dp comes to its links later, its flows are activities.
TEST(UndisturbedTest, TakesAsLongAsFlowsOfTheEventLoop) {
  BenchPlan alone(4, 2, small_cluster(8)), disturbed(4, 2, small_cluster(8));
  for (int i = 0; i < 20; ++i) alone.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(1e3 * (1 << i)));
  for (int i = 0; i < 20; ++i) disturbed.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(1e3 * (1 << i)));
  disturbed.collective(CollectiveKind::all_gather, Dimension::dp, Bytes(1e6), {static_cast<TaskId>(19)});
  for (const Fold fold : {Fold::off, Fold::on}) {
    const SimulationOptions options{.fold = fold, .cuda_graph = true};
    const Trace dates = alone.run_isolated(options), flows = disturbed.run_isolated(options);
    const auto last = std::ranges::find(flows.spans, 19u, &Span::task);
    EXPECT_NEAR(dates.makespan / last->end, 1, 1e-12);
    EXPECT_LT(dates.events, 41 * dates.gpus.size());  // two a collective and group, at most
  }
}

TEST(MeetingTest, StartsWhenTheLastMemberHasCome) {
  BenchPlan plan(2, 1, small_cluster(2));
  const TaskId kernel = plan.kernel(Seconds(30e-6));
  plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(450e3), {kernel});
  const Trace trace = plan.run(kGraphUnfolded);
  EXPECT_NEAR(trace.makespan.value(), 30e-6 + 1e-6 + 2 * 0.8e-6, 1e-12);
}

// A collective whose second member never comes: nothing happens, and it is named.
TEST(MeetingTest, AMemberThatNeverComesIsNamed) {
  Plan plan;
  plan.spec.tp = 2;
  plan.names = {"sum of scores"};
  plan.tasks.emplace_back();
  plan.tasks[0].work = Collective{CollectiveKind::all_reduce, Dimension::tp, Bytes(8.0)};
  const ClusterSpec cluster = small_cluster(2);
  const Topology topology(cluster);
  const CollectiveModel model;
  const Routing routing(plan, {{0, 1}}, cluster, topology, model);
  Recorder recorder({true, true}, {0, 1}, {"communication tp"}, topology.links());
  Engine engine({{0, 132, BytesPerSec(1e12)}, {1, 132, BytesPerSec(1e12)}},
                {topology.links(), routing.routes(), [&](std::size_t route) { return routing.links_of(route); }});
  Collectives collectives(engine, plan, routing, model, recorder);
  bool done = false;
  collectives.join(0, 0, [&](Seconds) { done = true; });
  engine.run();
  EXPECT_FALSE(done);
  EXPECT_EQ(collectives.waiting(), std::vector<std::string>{"all_reduce 'sum of scores' over tp has 1 of 2 ranks"});
}

}  // namespace
}  // namespace tessera
