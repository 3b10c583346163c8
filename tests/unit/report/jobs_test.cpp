// Measures of jobs on a cluster, by hand.
#include "sim/report/jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

/// Two jobs on one node of eight GPUs: the first has all of it for 10 s, the second waits for 5 s and has a half
/// for 10.
JobsSummary two_jobs() {
  JobsSummary s{.scenario = "s",
                .run = "r",
                .cluster = find_cluster("dgx-a100-80gb", 1),
                .options = {},
                .jobs = {{.name = "a", .gpus = 8, .alone = Seconds(10)},
                         {.name = "<b>", .arrival = Seconds(5), .gpus = 4, .alone = Seconds(8)}}};
  JobRecord a, b;
  a.end = Seconds(10), a.held = Seconds(10), a.nodes = 1;
  b.start = Seconds(10), b.end = Seconds(20), b.waited = Seconds(5), b.held = Seconds(10), b.slowed = Seconds(2);
  b.nodes = 1, b.jobs_beside = 4.0 / 3, a.jobs_beside = 1.5;
  s.result.records = {a, b};
  s.result.stays = {{0, Seconds(0), Seconds(10), {0, 1, 2, 3, 4, 5, 6, 7}},
                    {1, Seconds(10), Seconds(20), {0, 1, 2, 3}}};
  s.result.usage = {{Seconds(0), 8, 0, 0, 0, 0}, {Seconds(5), 8, 0, 0, 0, 1}, {Seconds(10), 4, 4, 0, 0, 0}};
  s.result.makespan = Seconds(20);
  s.measures = measure_jobs(s.cluster, s.jobs, s.result);
  return s;
}

TEST(JobsMeasures, AreTheFormulas) {
  const JobsMeasures m = two_jobs().measures;
  EXPECT_DOUBLE_EQ(m.completion.mean.value(), 12.5);
  EXPECT_DOUBLE_EQ(m.completion.p99.value(), 15);
  EXPECT_DOUBLE_EQ(m.waiting.mean.value(), 2.5);
  EXPECT_DOUBLE_EQ(m.slowdown, (1 + 15.0 / 8) / 2);
  EXPECT_DOUBLE_EQ(m.busy_ratio, 120.0 / 160);
  EXPECT_DOUBLE_EQ(m.fragmented_ratio, 1);
  EXPECT_DOUBLE_EQ(m.scattered_ratio, 0);
  const double speed = 8.0 / 15;
  EXPECT_NEAR(m.jain, (1 + speed) * (1 + speed) / (2 * (1 + speed * speed)), 1e-12);
  // Shares of a fair division: 8 of 8 / 1.5 GPUs; 4 of 8 / 1.33 are enough.
  EXPECT_NEAR(m.finish_fairness, (1 / 1.5 + 15.0 / 8) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(m.finish_unfair_ratio, 0.5);
  EXPECT_DOUBLE_EQ(m.goodput_ratio, 112.0 / 120);
  EXPECT_DOUBLE_EQ((m.useful + m.slowed).value(), 120);
  double waiting = 0;
  for (const ClusterBin& bin : m.over_time) waiting += bin.waiting / static_cast<double>(m.over_time.size());
  EXPECT_NEAR(waiting, 5.0 / 20, 1e-9);
  EXPECT_NEAR(m.over_time.front().busy_ratio, 1, 1e-9);
  EXPECT_NEAR(m.over_time.back().busy_ratio, 0.5, 1e-9);
}

TEST(JobsOutputs, SayWhatWasMeasured) {
  const JobsSummary s = two_jobs();
  EXPECT_THAT(jobs_text(s), HasSubstr("75.0 %"));
  EXPECT_THAT(jobs_csv(s), HasSubstr("<b>,4,5,10,20,8,5,10,2,0,0,0,0,1\n"));
  EXPECT_DOUBLE_EQ(jobs_json(s).at("busy_ratio").number(), 0.75);
  EXPECT_THAT(jobs_svg(s), HasSubstr("&lt;b>"));
  PackingText trace(1 << 20);
  jobs_trace(s, trace);
  // The process's name, and begin and end of two stays on one node.
  EXPECT_EQ(parse_json(trace.take().bytes, "trace").at("traceEvents").items().size(), 5U);
}

}  // namespace
}  // namespace tessera
