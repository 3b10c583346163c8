#include "sim/report/critical_path.hpp"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/unit/des/bench_pipeline.hpp"
#include "tests/unit/report/tiny_run.hpp"

namespace tessera {
namespace {

std::map<std::string, double> seconds(const std::vector<PathPart>& parts) {
  std::map<std::string, double> result;
  for (const PathPart& part : parts) result[part.name] = part.time.value();
  return result;
}

double sum(const CriticalPath& path) {
  double all = 0;
  for (const PathPart& part : path.parts) all += part.time.value();
  return all;
}

// The home stage computes m (f + b); fill and drain are (p - 1) (f + b) (Narayanan et al., arXiv 2104.04473), with v
// chunks a v-th of it.
TEST(CriticalPath, PipelinesAreTheirClosedForms) {
  const double pass = (kForward + kBackward).value();
  for (const int p : {2, 3, 4})
    for (const int m : {p, 4 * p})
      for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
        const BenchPipeline pipeline({.pp = p, .micro_batches = m, .schedule = schedule}, Bytes(0), instant_cluster(p));
        const CriticalPath path = critical_path(pipeline.plan(), pipeline.run(kGraphUnfolded));
        auto parts = seconds(path.parts);
        EXPECT_NEAR(parts["matrix products"], m * pass, 1e-10) << p << ' ' << m;
        EXPECT_NEAR(parts["pipeline bubble"], (p - 1) * pass, 1e-10) << p << ' ' << m;
        EXPECT_EQ(parts.size(), 2u);
      }
}

TEST(CriticalPath, InterleavingLeavesAShareOfTheBubble) {
  const double pass = (kForward + kBackward).value();
  for (const int v : {2, 3}) {
    const BenchPipeline pipeline({.pp = 4, .micro_batches = 16, .chunks = v}, Bytes(0), instant_cluster(4));
    const CriticalPath path = critical_path(pipeline.plan(), pipeline.run(kGraphUnfolded));
    EXPECT_NEAR(sum(path), 16 * pass + 3 * pass / v, 1e-10);
    EXPECT_GE(seconds(path.parts)["pipeline bubble"], 3 * pass / v - 1e-10);
  }
}

// One micro-batch: down and up through messages of 4.5 MB at 450 GB/s, 10 us each.
TEST(CriticalPath, MessagesBetweenStagesAreBubble) {
  const BenchPipeline pipeline(3, 1, 1, Bytes(4.5e6), instant_cluster(3));
  auto parts = seconds(critical_path(pipeline.plan(), pipeline.run(kGraphUnfolded)).parts);
  EXPECT_NEAR(parts["matrix products"], 30e-6, 1e-10);
  EXPECT_NEAR(parts["pipeline bubble"] + parts["send_recv over next stage"] + parts["send_recv over previous stage"],
              60e-6 + 40e-6, 1e-10);
}

// Slow messages let the path change sides while both stages compute: of that, nothing is the pipeline's.
TEST(CriticalPath, BubbleIsNoMoreThanHomeIsIdle) {
  for (const int p : {2, 3, 4})
    for (const double bytes : {0.5e6, 2e6, 9e6}) {
      const BenchPipeline pipeline(p, 1, 4 * p, Bytes(bytes), instant_cluster(p));
      const Trace trace = pipeline.run(kGraphUnfolded);
      const CriticalPath path = critical_path(pipeline.plan(), trace);
      const double busy = trace.gpus[static_cast<std::size_t>(path.stage)].compute_busy.value();
      EXPECT_LE(seconds(path.parts)["pipeline bubble"], trace.makespan.value() - busy + 1e-12) << p << ' ' << bytes;
      EXPECT_NEAR(sum(path), trace.makespan.value(), 1e-12) << p << ' ' << bytes;
    }
}

// Gradients are reduced after the last pass, 2 x 45 MB / 2 at 450 GB/s, on whichever stage: no pipeline hides it.
TEST(CriticalPath, FoldedAndUnfoldedAreOnePath) {
  const BenchPipeline pipeline(2, 2, 4, Bytes(0), instant_cluster(4));
  for (const SimulationOptions& options : {kGraphUnfolded, kGraphFolded}) {
    const Trace trace = pipeline.run(options);
    const CriticalPath path = critical_path(pipeline.plan(), trace);
    auto parts = seconds(path.parts);
    EXPECT_NEAR(parts["all_reduce over dp"], 100e-6, 1e-10);
    EXPECT_NEAR(parts["matrix products"], 120e-6, 1e-10);
    EXPECT_NEAR(sum(path), trace.makespan.value(), 1e-12);
  }
}

// Launches of 5 us feed kernels of 1 us.
TEST(CriticalPath, NamesTheHostWhereItCannotKeepUp) {
  BenchPlan plan(1, 1, small_cluster(1));
  for (int i = 0; i < 10; ++i) plan.kernel(Seconds(1e-6));
  const CriticalPath path = critical_path(plan.plan(), plan.run_isolated());
  EXPECT_EQ(path.parts.front().name, "waiting for the host");
  EXPECT_NEAR(path.parts.front().time.value(), 50e-6 - 9e-6, 1e-9);
}

// A rank that comes late decides when the collective begins: of the path, the early one has nothing.
TEST(CriticalPath, FollowsTheLastToJoin) {
  ClusterSpec cluster = instant_cluster(2);
  cluster.gpu_speeds = {GpuSpeed{1, 0.5}};
  BenchPlan plan(1, 2, cluster);
  const TaskId kernel = plan.kernel(Seconds(1e-3));
  plan.collective(CollectiveKind::all_reduce, Dimension::dp, Bytes(45e6), {kernel});
  auto parts = seconds(critical_path(plan.plan(), plan.run_isolated(kGraphFolded)).parts);
  EXPECT_NEAR(parts["matrix products"], 2e-3, 1e-9);
  EXPECT_NEAR(parts["all_reduce over dp"], 100e-6, 1e-9);
}

TEST(CriticalPath, OfATinyRun) {
  const Summary s = TinyRun().summary();
  auto parts = seconds(s.path.parts), operators = seconds(s.path.operators);
  EXPECT_EQ(parts["matrix products"], 2);
  EXPECT_EQ(parts["other kernels"], 2);
  EXPECT_EQ(operators["copy, out"], 2);
  EXPECT_NEAR(sum(s.path), 5.5, 1e-12);
}

TEST(CriticalPath, NothingWithoutSpans) {
  TinyRun run;
  run.trace.spans.clear();
  EXPECT_TRUE(critical_path(run.plan, run.trace).parts.empty());
}

TEST(SpeedUpBound, IsWhatIsLeft) {
  EXPECT_EQ(speed_up_bound(Seconds(4), Seconds(1)), 4.0 / 3);
  EXPECT_TRUE(std::isinf(speed_up_bound(Seconds(4), Seconds(4))));
}

}  // namespace
}  // namespace tessera
