// Pipelines in the event loop against the 1F1B schedule worked out without it.
#include <gtest/gtest.h>

#include "sim/des/simulate.hpp"
#include "sim/graph/pipeline.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

constexpr Seconds kForward(10e-6), kBackward(20e-6);

/// Equal stages of one kernel forward and one backward, and messages of so many bytes.
class BenchPipeline {
 public:
  BenchPipeline(int stages, int dp, std::int64_t micro_batches, Bytes message, ClusterSpec cluster)
      : BenchPipeline({.dp = dp, .pp = stages, .micro_batches = micro_batches}, message, std::move(cluster)) {}
  BenchPipeline(const ParallelSpec& spec, Bytes message, ClusterSpec cluster)
      : cluster_(std::move(cluster)), message_(message) {
    plan_.spec = spec;
    plan_.wraps = spec.chunks > 1;
    plan_.kernels.resize(3);
    plan_.names = {"kernel", "message"};
    for (const Seconds time : {kForward, kBackward, kBackward / 2})
      costs_.push_back(grid(cluster_.gpu, 200, 1024, time / spec.chunks));
    for (int stage = 0; stage < spec.pp; ++stage) {
      for (const Pass& pass : pass_order(spec, stage)) add(stage, pass);
      if (spec.dp > 1) push(Collective{CollectiveKind::all_reduce, Dimension::dp, Bytes(45e6)}, {last_});
      plan_.stage_ends.push_back(plan_.tasks.size());
    }
  }

  Trace run(SimulationOptions options) const {
    Placement placement;
    for (int r = 0; r < plan_.spec.world_size(); ++r) placement.gpu_of_rank.push_back(r);
    return simulate_isolated({cluster_, plan_, costs_, placement, options});
  }

 private:
  TaskId push(std::variant<KernelId, Collective> work, std::vector<TaskId> after) {
    Task task;
    task.stream = std::holds_alternative<KernelId>(work) ? StreamKind::compute : StreamKind::communication;
    task.name = std::holds_alternative<KernelId>(work) ? 0 : 1;
    task.work = work;
    task.after = std::move(after);
    plan_.tasks.push_back(std::move(task));
    return static_cast<TaskId>(plan_.tasks.size() - 1);
  }
  TaskId message(int sender, bool forward, std::int64_t micro_batch, bool receives, std::vector<TaskId> after) {
    const auto number = (2 * sender + (forward ? 0 : 1)) * plan_.spec.micro_batches + micro_batch;
    return push(Collective{CollectiveKind::send_recv, forward ? Dimension::next : Dimension::previous, message_,
                           receives, static_cast<std::uint32_t>(number)},
                std::move(after));
  }
  void add(int device, const Pass& pass) {
    const int stages = plan_.spec.stages(), stage = pass.chunk * plan_.spec.pp + device;
    const int from = pass.forward ? stage - 1 : stage + 1, to = pass.forward ? stage + 1 : stage - 1;
    const bool passes_on = pass.part != BackwardPart::parameters;
    std::vector<TaskId> after;
    if (passes_on && from >= 0 && from < stages)
      after.push_back(message(from, pass.forward, pass.micro_batch, true, {}));
    const std::uint32_t kernel = pass.forward ? 0 : pass.part == BackwardPart::all ? 1 : 2;
    last_ = push(static_cast<KernelId>(kernel), std::move(after));
    if (passes_on && to >= 0 && to < stages) message(stage, pass.forward, pass.micro_batch, false, {last_});
  }

  ClusterSpec cluster_;
  Bytes message_;
  Plan plan_;
  CostTable costs_;
  TaskId last_{};
};

/// Without latency; links of 450 GB/s.
ClusterSpec instant_cluster(int gpus) {
  ClusterSpec cluster = small_cluster(gpus);
  cluster.node.gpu_link_latency = Seconds(0);
  return cluster;
}

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
