#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/app/run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/graph/allocations.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

RunSpec prefill() {
  RunSpec spec;
  spec.scenario = "test";
  spec.name = "one";
  spec.model = find_model("gpt2");
  spec.build = {.mode = Mode::inference,
                .batch = 4,
                .sequence = 256,
                .dtype = Dtype::fp16,
                .attention = AttentionKind::flash,
                .optimizer = OptimizerKind::none,
                .accumulate = true,
                .fused = false};
  spec.cluster = single_gpu("A100-SXM-80GB");
  spec.simulation.cuda_graph = true;
  return spec;
}

RunSpec training(int tp, int dp) {
  RunSpec spec = prefill();
  spec.build.mode = Mode::training;
  spec.build.optimizer = OptimizerKind::adam;
  spec.cluster = find_cluster("dgx-a100-80gb");
  spec.parallel.tp = tp;
  spec.parallel.dp = dp;
  return spec;
}

RunResult run_roofline(const RunSpec& spec) {
  return run(spec, *make_latency_model("roofline"));
}

std::string refusal(const RunSpec& spec) {
  try {
    run_roofline(spec);
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

/// A schedule that nothing would be done by, and one of a group of another size.
TEST(Run, AScheduleThatFitsNothingIsRefused) {
  RunSpec spec = training(4, 2);
  const auto schedule =
      read_collective_schedule(std::string(TESSERA_SOURCE_DIR) + "/scenarios/collectives/all-pairs-4.yaml");
  spec.simulation.own_collectives = {{Dimension::dp, schedule}};
  EXPECT_EQ(refusal(spec), "schedule 'all-pairs-4' is of 4 ranks, a group of dp has 2");
  spec.simulation.own_collectives = {{Dimension::tp, schedule}};
  spec.simulation.own_collectives.front().schedule.kind = CollectiveKind::all_gather;
  EXPECT_EQ(refusal(spec), "schedule 'all-pairs-4': the run has no all_gather over tp");
}

/// The first step after PyTorch's empty_cache: the host allocates, and a GPU whose kernels are short waits for it.
TEST(Run, AColdAllocatorCostsTheHostItsAllocations) {
  RunSpec spec = training(1, 1);
  spec.build.attention = AttentionKind::eager;
  spec.simulation.cuda_graph = false;
  const Seconds warm = run_roofline(spec).trace.makespan;
  spec.cold_allocator = true;
  const RunResult cold = run_roofline(spec);
  int segments = 0;
  for (const int made : segments_from_empty(cold.plan)) segments += made;
  const Seconds host = spec.cluster.node.device_malloc * segments;
  EXPECT_GT(segments, spec.model.layers);
  EXPECT_GT(cold.trace.makespan, max(warm, host));
  EXPECT_LT(cold.trace.makespan, warm + host);
  spec.cluster.node.device_malloc = Seconds();
  EXPECT_EQ(run_roofline(spec).trace.makespan, warm);
  spec.simulation.cuda_graph = true;
  spec.cluster.node.device_malloc = Seconds(1);
  EXPECT_LE(run_roofline(spec).trace.makespan, warm);  // a captured graph has its memory
}

/// Without host launches and neighbours, a GPU runs its kernels back to back.
TEST(Run, AloneTakesTheSumOfItsKernels) {
  const RunResult result = run_roofline(prefill());
  Seconds sum;
  for (const Task& task : result.plan.tasks)
    sum += result.costs[static_cast<std::size_t>(std::get<KernelId>(task.work))].time.p50;
  EXPECT_NEAR(result.trace.makespan / sum, 1, 1e-9);
  EXPECT_EQ(result.summary.tokens_per_step, 4 * 256);
  EXPECT_EQ(result.summary.busiest_link, "");
}

/// The backward pass has twice the forward's GEMMs, and there is an optimizer.
TEST(Run, TrainingTakesMoreThanThreeForwards) {
  RunSpec spec = training(1, 1);
  spec.simulation.cuda_graph = true;
  EXPECT_GT(run_roofline(spec).trace.makespan, 2.5 * run_roofline(prefill()).trace.makespan);
}

TEST(Run, ReplicasKeepTheStepButForTheGradients) {
  const RunResult one = run_roofline(training(1, 1)), four = run_roofline(training(1, 4));
  EXPECT_EQ(four.summary.tokens_per_step, 4 * one.summary.tokens_per_step);
  EXPECT_NEAR(four.summary.compute / one.summary.compute, 1, 1e-6);
  EXPECT_GT(four.summary.exposed_communication, Seconds());
  EXPECT_EQ(four.summary.model_flops, 4 * one.summary.model_flops);
}

TEST(Run, TensorParallelismDividesComputeAndWeights) {
  const RunResult one = run_roofline(training(1, 1)), four = run_roofline(training(4, 1));
  EXPECT_LT(four.summary.compute, one.summary.compute);
  EXPECT_GE(4 * four.summary.compute, one.summary.compute);
  EXPECT_LT(four.summary.memory.total(), one.summary.memory.total());
}

TEST(Run, RefusesWhatDoesNotFitUnlessTold) {
  RunSpec spec = prefill();
  spec.cluster.gpu.memory = Bytes(1e8);
  const std::string why = refusal(spec);
  EXPECT_THAT(why, HasSubstr("gpt2 does not fit on A100-SXM-80GB: a GPU needs"));
  EXPECT_THAT(why, HasSubstr("What would make it fit:"));
  spec.check_memory = false;
  EXPECT_EQ(refusal(spec), "");
}

TEST(Run, ASmallerBatchIsSuggestedWhereItHelps) {
  RunSpec spec = prefill();
  spec.build.batch = 4096;
  spec.cluster.gpu.memory = Bytes(20e9);
  EXPECT_THAT(refusal(spec), HasSubstr("  - a batch of "));
}

TEST(Run, RecomputationIsAdvisedWhereActivationsAreTooMuch) {
  RunSpec spec = training(1, 4);
  spec.build.batch = 8;
  ParallelSpec full = spec.parallel;
  full.recompute = Recompute::full;
  const Bytes size = memory_footprint(spec.model, spec.build, build_graph(spec.model, spec.build), full).total();
  spec.cluster.gpu.memory = size;
  EXPECT_THAT(refusal(spec), HasSubstr("  - recompute: full (" + format(size) + ")"));
}

TEST(Run, ShardingIsAdvisedWhereTheStateIsTooMuch) {
  RunSpec spec = training(1, 8);
  ParallelSpec sharded = spec.parallel;
  sharded.sharding = Sharding::zero1;
  const Bytes size = memory_footprint(spec.model, spec.build, build_graph(spec.model, spec.build), sharded).total();
  spec.cluster.gpu.memory = size;
  EXPECT_THAT(refusal(spec), HasSubstr("  - sharding: zero1 (" + format(size) + ")"));
}

TEST(Run, RemediesAreCombinedWhereNoneIsEnough) {
  RunSpec spec = training(1, 8);
  spec.build.batch = 8;
  spec.cluster.gpu.memory = Bytes(2.2e9);
  EXPECT_THAT(refusal(spec), HasSubstr("  - together: a micro-batch of 1 per GPU, recompute: "));
}

TEST(Run, NoWiderGroupIsAdvisedThanThereAreGpusFor) {
  for (const int pp : {4, 8}) {  // of eight GPUs
    RunSpec spec = training(1, 1);
    spec.parallel.pp = pp;
    spec.cluster.gpu.memory = Bytes(1.5e9);
    const std::string why = refusal(spec);
    EXPECT_THAT(why, HasSubstr("What would make it fit:"));
    EXPECT_THAT(why, testing::Not(HasSubstr(pp == 8 ? "tp 2" : "tp 4")));
  }
}

TEST(Run, NoPlaceIsAnErrorThatNamesThePolicy) {
  EXPECT_THAT(refusal(training(4, 3)), HasSubstr("packed: 12 ranks (tp 4 x dp 3), but 8 of 8 GPUs are free"));
}

TEST(Run, TheSameTwiceGivesTheSame) {
  const RunResult a = run_roofline(training(2, 4)), b = run_roofline(training(2, 4));
  EXPECT_EQ(a.trace.makespan, b.trace.makespan);
  ASSERT_EQ(a.trace.spans.size(), b.trace.spans.size());
  for (std::size_t i = 0; i < a.trace.spans.size(); ++i) EXPECT_EQ(a.trace.spans[i].end, b.trace.spans[i].end);
}

}  // namespace
}  // namespace tessera
