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
      : cluster_(std::move(cluster)), message_(message) {
    plan_.spec = {.dp = dp, .pp = stages, .micro_batches = micro_batches};
    plan_.kernels.resize(2);
    plan_.names = {"kernel", "message"};
    costs_ = {grid(cluster_.gpu, 200, 1024, kForward), grid(cluster_.gpu, 200, 1024, kBackward)};
    for (int stage = 0; stage < stages; ++stage) {
      for (const Pass& pass : one_f_one_b_order(stage, stages, 1, micro_batches)) add(stage, pass);
      if (dp > 1) push(Collective{CollectiveKind::all_reduce, Dimension::dp, Bytes(45e6)}, {last_});
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
  void add(int stage, const Pass& pass) {
    const int stages = plan_.spec.pp, from = pass.forward ? stage - 1 : stage + 1;
    const int to = pass.forward ? stage + 1 : stage - 1;
    std::vector<TaskId> after;
    if (from >= 0 && from < stages) after.push_back(message(from, pass.forward, pass.micro_batch, true, {}));
    last_ = push(static_cast<KernelId>(pass.forward ? 0 : 1), std::move(after));
    if (to >= 0 && to < stages) message(stage, pass.forward, pass.micro_batch, false, {last_});
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
