// Whole plans: launches, dependencies, accounting, failures.
#include "sim/des/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/trace/binary.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

// Kernels of 1 us at 5 us a launch: the GPU waits for every launch, and the last kernel ends 1 us after its own.
TEST(HostTest, SmallKernelsAreBoundByTheirLaunches) {
  BenchPlan plan(1, 1, small_cluster(1));
  for (int i = 0; i < 50; ++i) plan.kernel(Seconds(1e-6));
  const Trace trace = plan.run();
  EXPECT_NEAR(trace.makespan.value(), 50 * 5e-6 + 1e-6, 1e-12);
  EXPECT_NEAR(trace.gpus[0].compute_busy.value(), 50e-6, 1e-12);
  EXPECT_NEAR(trace.gpus[0].idle.value(), 50 * 4e-6 + 1e-6, 1e-12);
}

// Kernels of 10 us: the host runs ahead, and only the first launch shows.
TEST(HostTest, LargeKernelsHideTheirLaunches) {
  BenchPlan plan(1, 1, small_cluster(1));
  for (int i = 0; i < 50; ++i) plan.kernel(Seconds(10e-6));
  EXPECT_NEAR(plan.run().makespan.value(), 5e-6 + 50 * 10e-6, 1e-12);
}

TEST(HostTest, CudaGraphsRemoveLaunches) {
  BenchPlan plan(1, 1, small_cluster(1));
  for (int i = 0; i < 50; ++i) plan.kernel(Seconds(1e-6));
  EXPECT_NEAR(plan.run({.cuda_graph = true}).makespan.value(), 50e-6, 1e-12);
}

// A: 10 us. The sum over tp after A takes c = 45 us + 2 x 0.8 us; beside it B runs for 4 us; C waits for the sum.
// compute 10 + 4 + 3, exposed c - 4.
TEST(AccountingTest, ComputeExposedAndIdleAddUpToTheMakespan) {
  BenchPlan plan(2, 1, small_cluster(2));
  const TaskId a = plan.kernel(Seconds(10e-6));
  const TaskId sum = plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(45e-6 * 450e9), {a});
  plan.kernel(Seconds(4e-6));
  plan.kernel(Seconds(3e-6), {sum});
  const Trace trace = plan.run(kGraphFolded);
  const double c = 45e-6 + 1.6e-6;
  ASSERT_EQ(trace.gpus.size(), 1u);
  EXPECT_EQ(trace.folded, 2u);
  EXPECT_NEAR(trace.makespan.value(), 13e-6 + c, 1e-12);
  EXPECT_NEAR(trace.gpus[0].compute_busy.value(), 17e-6, 1e-12);
  EXPECT_NEAR(trace.gpus[0].communication_busy.value(), c, 1e-12);
  EXPECT_NEAR(trace.gpus[0].exposed_communication.value(), c - 4e-6, 1e-12);
  EXPECT_NEAR(trace.gpus[0].idle.value(), 0, 1e-12);
  EXPECT_GT(trace.events, 0u);
}

TEST(AccountingTest, SpansLieOnTheTracksOfTheirGpuAndLinks) {
  BenchPlan plan(2, 1, small_cluster(2));
  const TaskId a = plan.kernel(Seconds(10e-6));
  plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(45e-6 * 450e9), {a});
  const Trace trace = plan.run(kGraphUnfolded);
  std::vector<std::string> tracks;
  tracks.reserve(trace.spans.size());
  for (const Span& span : trace.spans) tracks.push_back(trace.tracks[span.track].name);
  EXPECT_EQ(tracks, (std::vector<std::string>{"gpu0 compute", "gpu0 communication tp", "gpu1 compute",
                                              "gpu1 communication tp", "node0/gpu0/nvlink-out", "node0/gpu0/nvlink-in",
                                              "node0/gpu1/nvlink-out", "node0/gpu1/nvlink-in"}));
  for (const LinkUse& link : trace.links) {
    EXPECT_NEAR(link.carried.value(), 45e-6 * 450e9, 1e-3);
    EXPECT_NEAR(link.busy.value(), 45e-6, 1e-12);
  }
}

// All are accounted for, 64 are drawn.
TEST(AccountingTest, ATimelineHasAtMost64Gpus) {
  BenchPlan plan(8, 12, small_cluster(8, 12));
  plan.kernel(Seconds(10e-6));
  const Trace trace = plan.run_isolated(kGraphUnfolded);
  EXPECT_EQ(trace.gpus.size(), 96u);
  EXPECT_EQ(trace.spans.size(), 64u);
  EXPECT_EQ(trace.tracks.size(), 64u);
  for (const GpuUse& gpu : trace.gpus) EXPECT_NEAR(gpu.compute_busy.value(), 10e-6, 1e-12);
  EXPECT_EQ(trace.gpus.back().gpu, 95);
}

// Communicators of different dimensions have streams of their own: the sum over tp does not queue behind the one over
// dp, which waits for a kernel of 50 us.
TEST(LinesTest, DimensionsDoNotQueueBehindEachOther) {
  BenchPlan plan(2, 2, small_cluster(4));
  const TaskId kernel = plan.kernel(Seconds(50e-6));
  plan.collective(CollectiveKind::all_reduce, Dimension::dp, Bytes(450e3), {kernel});
  plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(450e3));
  const Trace trace = plan.run(kGraphFolded);
  for (const Span& span : trace.spans) {
    const std::string& track = trace.tracks[span.track].name;
    if (!track.starts_with("gpu")) continue;
    EXPECT_NEAR(span.start.value(), track == "gpu0 communication dp" ? 50e-6 : 0, 1e-12) << track;
  }
}

TEST(LinesTest, CollectivesOfOneDimensionQueue) {
  BenchPlan plan(2, 1, small_cluster(2));
  for (int i = 0; i < 3; ++i) plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(450e3));
  EXPECT_NEAR(plan.run(kGraphUnfolded).makespan.value(), 3 * 2.6e-6, 1e-12);
}

TEST(IsolationTest, TheTraceComesBackBitByBit) {
  BenchPlan plan(2, 2, small_cluster(4));
  TaskId last = plan.kernel(Seconds(7e-6));
  for (int i = 0; i < 20; ++i) {
    last = plan.collective(CollectiveKind::all_reduce, i % 2 ? Dimension::tp : Dimension::dp, Bytes(1e6 + i), {last});
    last = plan.kernel(Seconds((3 + i % 4) * 1e-6), {last});
  }
  const std::string first = to_bytes(plan.run_isolated()), second = to_bytes(plan.run_isolated());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, to_bytes(plan.run()));
}

std::string failure_of(const BenchPlan& plan, const SimulationOptions& options) {
  try {
    plan.run(options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// The kernel waits for a collective that waits for a later kernel of the same stream.
TEST(FailureTest, DeadlockIsAnErrorThatNamesWhoWaitsForWhat) {
  BenchPlan plan(2, 1, small_cluster(2));
  plan.kernel(Seconds(1e-3));
  const TaskId blocked = plan.kernel(Seconds(1e-6));
  const TaskId sum = plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(1e6));
  const TaskId later = plan.kernel(Seconds(1e-6));
  plan.also_after(blocked, sum);
  plan.also_after(sum, later);
  EXPECT_EQ(failure_of(plan, kGraphUnfolded),
            "deadlock at 1.00 ms: rank 0: 'kernel 1' (task 1) waits for 'collective 2' (task 2); "
            "rank 0: 'collective 2' (task 2) waits for 'kernel 3' (task 3); "
            "rank 1: 'kernel 1' (task 1) waits for 'collective 2' (task 2); "
            "rank 1: 'collective 2' (task 2) waits for 'kernel 3' (task 3)");
}

TEST(FailureTest, FailureInTheOtherProcessIsTheSameError) {
  BenchPlan plan(1, 1, small_cluster(1));
  const TaskId first = plan.kernel(Seconds(1e-6));
  const TaskId second = plan.kernel(Seconds(1e-6));
  plan.also_after(first, second);
  try {
    plan.run_isolated({.cuda_graph = true});
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'kernel 0' (task 0) waits for 'kernel 1' (task 1)"));
  }
}

TEST(FailureTest, UnknownDispatchPolicyIsAnInputError) {
  BenchPlan plan(1, 1, small_cluster(1));
  plan.kernel(Seconds(1e-6));
  EXPECT_THAT(failure_of(plan, {.dispatch = "stream"}), HasSubstr("unknown dispatch policy 'stream'; did you mean"));
}

}  // namespace
}  // namespace tessera
