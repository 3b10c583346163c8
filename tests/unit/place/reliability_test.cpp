// Failures, checkpoints and spares of a simulated cluster, and the closed forms they are held against.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/place/jobs/checkpointing.hpp"
#include "sim/place/jobs/failures.hpp"
#include "sim/place/jobs/progress.hpp"
#include "tests/unit/place/job_cluster.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(Checkpointing, YoungAndDalyByHand) {
  // A checkpoint of 50 s, a failure every 10,000 s: sqrt(2 x 50 x 10,000) = 1,000 s.
  EXPECT_NEAR(young_interval(Seconds(50), Seconds(1e4)).value(), 1000, 1e-9);
  EXPECT_NEAR(daly_interval(Seconds(50), Seconds(1e4)).value(), 1000 * (1 + 0.05 / 3 + 0.0025 / 9) - 50, 1e-9);
  EXPECT_EQ(daly_interval(Seconds(50), Seconds(20)).value(), 20);
}

TEST(Checkpointing, WithoutFailuresTimeIsWorkAndCheckpoints) {
  const Seconds never(1e15);
  EXPECT_NEAR(expected_time(Seconds(100), Seconds(10), Seconds(1), Seconds(5), never).value(), 109, 1e-6);
  EXPECT_NEAR(expected_time(Seconds(95), Seconds(10), Seconds(1), Seconds(5), never).value(), 104, 1e-6);
}

TEST(Checkpointing, DalysIntervalMinimisesTheExpectedTime) {
  const Seconds work(1e6), cost(50), restart(100), mtbf(1e4);
  const auto at = [&](double factor) {
    return expected_time(work, daly_interval(cost, mtbf) * factor, cost, restart, mtbf);
  };
  EXPECT_LT(at(1), at(0.8));
  EXPECT_LT(at(1), at(1.25));
}

TEST(JobProgress, WritesCheckpointsBetweenIntervalsButNotAtTheEnd) {
  JobRecord record;
  JobProgress progress(Seconds(30), {.checkpoint_interval = Seconds(10), .checkpoint_cost = Seconds(2)});
  progress.start(Seconds(100), Seconds(0), 1);
  EXPECT_DOUBLE_EQ(progress.end().value(), 134);
  progress.advance(Seconds(111), record);  // writing
  EXPECT_DOUBLE_EQ(progress.end().value(), 134);
  progress.set_speed(0.5);
  EXPECT_DOUBLE_EQ(progress.end().value(), 112 + 40 + 3 * 2);
  progress.interrupt(record);  // the first checkpoint is not complete
  EXPECT_DOUBLE_EQ(record.redone.value(), 10);
  progress.start(Seconds(120), Seconds(5), 1);
  EXPECT_DOUBLE_EQ(progress.end().value(), 159);
  progress.advance(Seconds(140), record);  // 15 s: one checkpoint, and 3 s more
  progress.interrupt(record);
  EXPECT_DOUBLE_EQ(record.redone.value(), 13);
  progress.start(Seconds(140), Seconds(5), 1);
  EXPECT_DOUBLE_EQ(progress.end().value(), 145 + 20 + 2);
  progress.advance(progress.end(), record);
  progress.finish(record);
  EXPECT_DOUBLE_EQ(record.restarting.value(), 10);
  EXPECT_DOUBLE_EQ(record.checkpointing.value(), 1 + 2 + 2);
  EXPECT_NEAR(record.slowed.value(), 0, 1e-12);
  EXPECT_EQ(record.interruptions, 2);
}

constexpr FaultSpec kNodeFaults{.node_mtbf = Seconds(500)};

/// Dates of the cluster's failures, from the same seed as the run's.
std::vector<Failure> first_failures(const ClusterSpec& cluster, const FaultSpec& faults, int count,
                                    std::vector<double>& dates) {
  FailureProcess process(cluster, Topology(cluster), faults, Rng(1, 2));
  std::vector<Failure> failures;
  for (int i = 0; i < count; ++i) {
    dates.push_back(process.next().value());
    failures.push_back(process.take());
  }
  return failures;
}

TEST(Failures, AnInterruptedJobBeginsAnewWithoutCheckpoints) {
  const ClusterSpec cluster = a100_nodes(1);
  std::vector<double> dates;
  first_failures(cluster, kNodeFaults, 200, dates);
  double start = 0;
  int interruptions = 0;
  for (const double date : dates) {
    if (start + 300 + (interruptions > 0 ? 7 : 0) <= date) break;
    start = date;
    ++interruptions;
  }
  ASSERT_GT(interruptions, 0);
  FaultSpec faults = kNodeFaults;
  faults.restart = Seconds(7);
  const JobsResult result = run_on(cluster, {job_of("j", 0, 8, 300)}, {.faults = faults});
  EXPECT_EQ(result.records[0].interruptions, interruptions);
  EXPECT_NEAR(result.makespan.value(), start + 307, 1e-6);
}

TEST(Failures, ASpareTakesTheFailedNodesPlace) {
  const ClusterSpec cluster = a100_nodes(2);
  FaultSpec faults{.node_mtbf = Seconds(1000), .repair = Seconds(5000), .spares = 1};
  faults.checkpoint_interval = Seconds(10);
  const std::vector<ClusterJob> jobs{job_of("j", 0, 8, 2000)};
  const JobsResult spared = run_on(cluster, jobs, {.faults = faults});
  ASSERT_GT(spared.records[0].interruptions, 0);
  EXPECT_EQ(spared.stays[0].gpus.front(), 0);
  EXPECT_EQ(spared.stays[1].gpus.front(), 8);
  EXPECT_EQ(spared.stays[1].start, spared.stays[0].end);
  const ClusterSpec alone = a100_nodes(1);
  faults.spares = 0;
  const JobsResult waiting = run_on(alone, jobs, {.faults = faults});
  ASSERT_GT(waiting.records[0].interruptions, 0);
  EXPECT_NEAR(waiting.records[0].waited.value(), 5000.0 * waiting.records[0].interruptions, 1e-6);
}

TEST(Failures, ALinkInterruptsTheJobsThatCrossIt) {
  const ClusterSpec cluster = narrow_tree(4);
  const FaultSpec faults{.link_mtbf = Seconds(300), .checkpoint_interval = Seconds(1)};
  const std::vector<ClusterJob> jobs{job_of("inside", 0, 1, 500), job_of("across", 0, 2, 500)};
  const JobsResult result = run_on(cluster, jobs, {.faults = faults});
  EXPECT_EQ(result.records[0].interruptions, 0);
  EXPECT_GT(result.records[1].interruptions, 0);
}

TEST(Failures, WhatWouldNeverEndIsRefused) {
  const ClusterSpec cluster = a100_nodes(1);
  try {
    run_on(cluster, {job_of("j", 0, 8, 1e5)}, {.faults = {.gpu_mtbf = Seconds(8)}});
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("j would never end"));
  }
}

// Trials of one job against the exact mean, restarts that fail included.
TEST(Failures, MeanTimeIsTheClosedForm) {
  const ClusterSpec cluster = a100_nodes(1);
  const Topology topology(cluster);
  FaultSpec faults{.gpu_mtbf = Seconds(8 * 40.0)};  // the job's: 40 s
  faults.checkpoint_interval = Seconds(10), faults.checkpoint_cost = Seconds(2), faults.restart = Seconds(5);
  const std::vector<ClusterJob> jobs{job_of("j", 0, 8, 200)};
  double sum = 0, squares = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    JobsOptions options{.faults = faults, .seed = static_cast<std::uint64_t>(trial)};
    const double time = run_jobs({cluster, topology, jobs, options}).makespan.value();
    sum += time, squares += time * time;
  }
  const double mean = sum / kTrials;
  const double error = std::sqrt((squares / kTrials - mean * mean) / kTrials);
  const double exact = expected_time(Seconds(200), Seconds(10), Seconds(2), Seconds(5), Seconds(40)).value();
  EXPECT_NEAR(mean, exact, 3 * error);
  EXPECT_LT(error / exact, 0.01);  // enough trials to tell
}

TEST(CheckpointStudy, FindsDalysIntervalAndItsGoodput) {
  const ClusterSpec cluster = a100_nodes(4);
  const Topology topology(cluster);
  FaultSpec faults{.node_mtbf = Seconds(4 * 2e4)};  // the job's: 20,000 s
  faults.checkpoint_cost = Seconds(60), faults.restart = Seconds(300);
  const std::vector<ClusterJob> jobs{job_of("j", 0, 32, 1e6)};
  const CheckpointStudy study = study_checkpoints({cluster, topology, jobs, {.faults = faults}}, 30);
  EXPECT_NEAR(study.mtbf.value(), 2e4, 1e-6);
  EXPECT_LE(study.good_from, study.daly);
  EXPECT_GE(study.good_to, study.daly);
  EXPECT_GT(study.good_from, study.young * 0.5);  // and it can tell
  EXPECT_LT(study.good_to, study.young * 2);
  const Seconds exact = expected_time(Seconds(1e6), study.best.interval, Seconds(60), Seconds(300), study.mtbf);
  EXPECT_NEAR(study.best.goodput, Seconds(1e6) / exact, 2 * study.best.half_width);
}

TEST(CheckpointStudy, NeedsSomethingThatFails) {
  const ClusterSpec cluster = a100_nodes(1);  // no cables
  const Topology topology(cluster);
  const FaultSpec faults{.link_mtbf = Seconds(100), .checkpoint_cost = Seconds(1)};
  const std::vector<ClusterJob> jobs{job_of("j", 0, 8, 100)};
  EXPECT_THROW(study_checkpoints({cluster, topology, jobs, {.faults = faults}}, 2), RunError);
}

}  // namespace
}  // namespace tessera::testing
