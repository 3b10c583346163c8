// Collectives by a user's schedule in the event loop, against closed forms; SMs and bandwidth that collectives take.
#include <gtest/gtest.h>

#include "models/collectives/ring.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

/// NCCL's ring, written down: chunk c goes once around and is summed, then once more.
CollectiveSchedule ring(int ranks) {
  CollectiveSchedule s{
      .name = "ring", .kind = CollectiveKind::all_reduce, .ranks = ranks, .chunks = ranks, .steps = {}};
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int chunk = ((rank - step) % ranks + ranks) % ranks;
      s.steps.push_back(
          {rank, (rank + 1) % ranks, chunk, step < ranks - 1 ? StepAction::reduce : StepAction::copy, {}});
    }
  }
  return s;
}

TEST(OwnCollectiveTest, ARingTakesTheRingsClosedForm) {
  for (const int ranks : {2, 4, 8}) {
    BenchPlan plan(ranks, 1, small_cluster(ranks));
    plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(1e8));
    for (const Fold fold : {Fold::off, Fold::on}) {
      SimulationOptions options{.fold = fold, .cuda_graph = true};
      options.own_collectives = {{Dimension::tp, ring(ranks)}};
      const Seconds expected =
          ring_time(CollectiveKind::all_reduce, ranks, Bytes(1e8), BytesPerSec(450e9), Seconds(0.8e-6));
      EXPECT_NEAR(plan.run_isolated(options).makespan / expected, 1, 1e-6) << ranks;
    }
  }
}

// 2 (n - 1) steps of a chunk carry 2 (n - 1) / n of the bytes over every link.
TEST(OwnCollectiveTest, BytesOfEveryLinkAddUp) {
  BenchPlan plan(4, 1, small_cluster(4));
  plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(4e8));
  SimulationOptions options = kGraphUnfolded;
  options.own_collectives = {{Dimension::tp, ring(4)}};
  const Trace trace = plan.run_isolated(options);
  EXPECT_EQ(trace.links.size(), 8u);
  for (const LinkUse& link : trace.links) EXPECT_NEAR(link.carried.value(), 6e8, 1) << link.name;
}

// Groups on two nodes and the sums of another dimension beside them: folded as in the whole.
TEST(OwnCollectiveTest, FoldsAndContends) {
  ClusterSpec cluster = small_cluster(8, 2);
  cluster.gpu.boost_clock = Hertz(1.98e9);
  BenchPlan plan(4, 4, cluster);
  plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(1e8));
  plan.collective(CollectiveKind::all_gather, Dimension::dp, Bytes(1e9));
  SimulationOptions whole = kGraphUnfolded, folded = kGraphFolded;
  whole.collectives = folded.collectives = load_collective_parameters();
  whole.own_collectives = folded.own_collectives = {{Dimension::tp, ring(4)}};
  const Trace one = plan.run_isolated(folded);
  EXPECT_NEAR(one.makespan / plan.run_isolated(whole).makespan, 1, 0.01);
  EXPECT_GT(one.folded, 1u);
}

/// A kernel of one wave on all SMs beside a collective, and what each takes alone.
struct Beside {
  Seconds kernel{200e-6}, collective, both, both_taken;
  explicit Beside(Fidelity fidelity, double bytes) {
    ClusterSpec cluster = small_cluster(2);
    cluster.gpu.sms = 100;  // which the kernels fill
    const auto time = [&](bool kernels, bool collectives, bool taken) {
      BenchPlan plan(2, 1, cluster);
      for (int i = 0; kernels && i < 4; ++i) plan.kernel(kernel / 4);
      if (collectives) plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(bytes));
      SimulationOptions options = kGraphUnfolded;
      options.fidelity = fidelity;
      options.collectives_take_sms = taken;
      return plan.run_isolated(options).makespan;
    };
    kernel = time(true, false, false);
    collective = time(false, true, true);
    both = time(true, true, false);
    both_taken = time(true, true, true);
  }
};

// Off, they do not see each other. On, kernels last no less than alone, and no longer than S / (S - 24) of it: while
// the collective runs they have 76 of 100 SMs. The collective itself takes no longer.
TEST(TakenSmsTest, SlowKernelsDownWhileACollectiveRuns) {
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::wave}) {
    for (const double bytes : {9e6, 45e6, 450e6}) {
      const Beside beside(fidelity, bytes);
      EXPECT_EQ(beside.both, max(beside.kernel, beside.collective));
      EXPECT_GE(beside.both_taken, beside.both);
      EXPECT_LE(beside.both_taken, max(beside.collective, beside.kernel * (100.0 / 76)) * (1 + 1e-9));
    }
  }
}

// 45 MB between two GPUs at 450 GB/s: two steps of 50 us and 0.8 us each; the kernel's first 101.6 us do 77.2 us of its
// work, the rest is as fast as alone.
TEST(TakenSmsTest, GiveBackWhatTheyTookAtTheirEnd) {
  const Beside beside(Fidelity::automatic, 45e6);
  const double overlap = 45e6 / 450e9 + 2 * 0.8e-6, done = overlap * 76 / 100;
  EXPECT_NEAR(beside.both_taken.value(), overlap + (beside.kernel.value() - done), 1e-10);
}

}  // namespace
}  // namespace tessera
