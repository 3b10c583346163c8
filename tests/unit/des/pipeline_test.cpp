// Pipelines in the event loop against the 1F1B schedule worked out without it.
#include <gtest/gtest.h>

#include "tests/unit/des/bench_pipeline.hpp"

namespace tessera {
namespace {

// (m + p - 1) (f + b): the fill of p - 1 stages and m micro-batches at full pace (Narayanan et al., arXiv 2104.04473).
TEST(Pipeline, EqualStagesTakeTheClosedForm) {
  for (const int stages : {2, 3, 4})
    for (const int micro_batches : {1, 2, 7}) {
      const BenchPipeline pipeline(stages, 1, micro_batches, Bytes(0), instant_cluster(stages));
      const Trace trace = pipeline.run(kGraphUnfolded);
      EXPECT_NEAR(trace.makespan.value(), (micro_batches + stages - 1) * 30e-6, 1e-11);
      for (const GpuUse& gpu : trace.gpus) EXPECT_NEAR(gpu.compute_busy.value(), micro_batches * 30e-6, 1e-11);
    }
}

/// Time beyond the micro-batches' own, over their own.
double bubble(const ParallelSpec& spec) {
  const Trace trace = BenchPipeline(spec, Bytes(0), instant_cluster(spec.pp)).run(kGraphUnfolded);
  const double work = static_cast<double>(spec.micro_batches) * (kForward + kBackward).value();
  return trace.makespan.value() / work - 1;
}

// (p - 1) / m of the work where all forwards come first (Huang et al., arXiv 1811.06965) and for 1F1B; v chunks per
// device make it (p - 1) / (v m) (Narayanan et al., arXiv 2104.04473, section 2.2).
TEST(Pipeline, BubblesAreThoseOfTheSchedules) {
  for (const int p : {2, 3, 4})
    for (const int m : {p, 2 * p, 4 * p}) {
      const double expected = (p - 1.0) / m;
      EXPECT_NEAR(bubble({.pp = p, .micro_batches = m, .schedule = PipelineSchedule::gpipe}), expected, 1e-6);
      EXPECT_NEAR(bubble({.pp = p, .micro_batches = m}), expected, 1e-6);
      for (const int v : {2, 3})
        EXPECT_NEAR(bubble({.pp = p, .micro_batches = m, .chunks = v}), expected / v, 1e-6)
            << p << ' ' << m << ' ' << v;
    }
}

// ZB-H1: (p - 1) (f + b - w), with b and w half of backward each, here all three equal (Qi et al., arXiv 2401.10241,
// table 2).
TEST(Pipeline, ZeroBubbleLeavesAThird) {
  for (const int p : {2, 3, 4})
    for (const int m : {2 * p, 4 * p})
      EXPECT_NEAR(bubble({.pp = p, .micro_batches = m, .schedule = PipelineSchedule::zero_bubble}), (p - 1.0) / 3 / m,
                  1e-6)
          << p << ' ' << m;
}

// One micro-batch down and up again: 2 messages of 4.5 MB at 450 GB/s, 10 us each, between 3 passes of 2 stages.
TEST(Pipeline, MessagesTakeTheirTimeOnTheLinks) {
  const Trace trace = BenchPipeline(2, 1, 1, Bytes(4.5e6), instant_cluster(2)).run(kGraphUnfolded);
  EXPECT_NEAR(trace.makespan.value(), 2 * 30e-6 + 2 * 10e-6, 1e-11);
  Bytes carried;
  for (const LinkUse& link : trace.links) carried += link.carried;
  EXPECT_NEAR(carried.value(), 2 * 2 * 4.5e6, 1);  // each message over two links, out and in
}

// The first stage waits for the second between its forward and its backward: that is idle, not communication.
TEST(Pipeline, WaitingForAMessageIsIdleTime) {
  const Trace trace = BenchPipeline(2, 1, 1, Bytes(4.5e6), instant_cluster(2)).run(kGraphUnfolded);
  EXPECT_NEAR(trace.gpus[0].exposed_communication.value(), 2 * 10e-6, 1e-11);
  EXPECT_NEAR(trace.gpus[0].idle.value(), 30e-6, 1e-11);
}

// Launches of l = 50 us each outlast kernels. A host that runs ahead launches the first stage's backward as its fourth,
// at 4 l. One that waits for messages starts its launches anew: activations at 2 l, forward at 3 l, backward at 4 l,
// its message at 5 l, the first stage's backward at 6 l.
TEST(Pipeline, AHostThatWaitsForMessagesLaunchesLater) {
  constexpr Seconds kLaunch(50e-6);
  ClusterSpec cluster = instant_cluster(2);
  cluster.node.host_launch = kLaunch;
  const BenchPipeline pipeline(2, 1, 1, Bytes(0), cluster);
  SimulationOptions options = kGraphUnfolded;
  options.cuda_graph = false;
  EXPECT_NEAR(pipeline.run(options).makespan.value(), (4 * kLaunch + kBackward).value(), 1e-10);
  options.synchronous_messages = true;
  EXPECT_NEAR(pipeline.run(options).makespan.value(), (6 * kLaunch + kBackward).value(), 1e-10);
}

TEST(Pipeline, FoldedStagesAgreeWithUnfolded) {
  for (const int dp : {2, 4}) {
    const BenchPipeline pipeline(2, dp, 4, Bytes(1e6), small_cluster(2 * dp));
    const Trace folded = pipeline.run(kGraphFolded), whole = pipeline.run(kGraphUnfolded);
    EXPECT_EQ(folded.gpus.size(), 2u);
    EXPECT_EQ(folded.folded, static_cast<std::uint32_t>(dp));
    EXPECT_EQ(whole.gpus.size(), static_cast<std::size_t>(2 * dp));
    EXPECT_NEAR(folded.makespan / whole.makespan, 1, 0.01);
  }
}

}  // namespace
}  // namespace tessera
