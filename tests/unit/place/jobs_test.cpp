// Jobs on a cluster: places, queues, contention and failures, held against timelines made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/place/jobs/contention.hpp"
#include "sim/place/jobs/gang.hpp"
#include "sim/place/jobs/gpu_pool.hpp"
#include "sim/place/jobs/scheduler.hpp"
#include "tests/unit/place/job_cluster.hpp"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> chosen(std::string_view policy, const GpuPool& pool, int gpus, const ClusterSpec& cluster) {
  const Topology topology(cluster);
  Rng rng(1);
  return find_gang_policy(policy).make(cluster, topology)->choose(pool, gpus, rng);
}

/// Three nodes of eight; 3, 6 and 8 GPUs are free.
GpuPool half_full() {
  GpuPool pool(3, 8);
  pool.take(std::vector{0, 1, 2, 3, 4, 8, 9});
  return pool;
}

TEST(GangPolicies, ChooseTheirNodes) {
  const GpuPool pool = half_full();
  const ClusterSpec cluster = a100_nodes(3);
  EXPECT_THAT(chosen("first_fit", pool, 4, cluster), ElementsAre(5, 6, 7, 10));
  EXPECT_THAT(chosen("packed", pool, 4, cluster), ElementsAre(10, 11, 12, 13));  // the fullest that holds it
  EXPECT_THAT(chosen("packed", pool, 2, cluster), ElementsAre(5, 6));
  EXPECT_THAT(chosen("packed", pool, 10, cluster), ElementsAre(16, 17, 18, 19, 20, 21, 22, 23, 5, 6));
  EXPECT_THAT(chosen("spread", pool, 4, cluster), ElementsAre(16, 17, 10, 5));
  EXPECT_EQ(chosen("random", pool, 17, cluster).size(), 17U);
}

TEST(GangPolicies, TopologyAwareStaysUnderOneSwitch) {
  const ClusterSpec cluster = narrow_tree(4);
  const Topology topology(cluster);
  EXPECT_THAT(neighbourhoods(cluster, topology), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  GpuPool pool(4, 1);
  pool.take(std::vector{1});
  EXPECT_THAT(chosen("topology", pool, 2, cluster), ElementsAre(2, 3));
  EXPECT_THAT(chosen("packed", pool, 2, cluster), ElementsAre(0, 2));
  EXPECT_THAT(chosen("topology", pool, 1, cluster), ElementsAre(0));  // leaves the whole neighbourhood to others
}

TEST(GangPolicies, AnUnknownNameIsMetWithTheNearest) {
  try {
    find_gang_policy("paked");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'packed'"));
  }
  try {
    find_queue_rule("backfil");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'backfill'"));
  }
}

TEST(GpuPool, CountsWhatIsFreeAndInService) {
  GpuPool pool(3, 8, 1);
  EXPECT_EQ(pool.free(), 16);
  EXPECT_EQ(pool.out(), 8);
  pool.take(std::vector{0, 1});
  EXPECT_EQ(pool.free(), 14);
  EXPECT_EQ(pool.whole_free(), 8);
  pool.fail(0);  // the spare comes in
  EXPECT_EQ(pool.free(), 16);
  EXPECT_TRUE(pool.in_service(2));
  pool.give_back(std::vector{0, 1});
  EXPECT_EQ(pool.free(), 16);
  pool.fail(1);  // no spare is left
  EXPECT_EQ(pool.free(), 8);
  pool.repair(0);  // serves again
  EXPECT_EQ(pool.free(), 16);
  pool.repair(1);  // stands by from now on
  EXPECT_EQ(pool.free(), 16);
  EXPECT_EQ(pool.out(), 8);
}

std::vector<double> ends(const JobsResult& result) {
  std::vector<double> dates;
  for (const JobRecord& record : result.records) dates.push_back(record.end.value());
  return dates;
}

TEST(Queues, FifoHoldsUpBackfillFillsShortestGoesFirst) {
  const ClusterSpec cluster = a100_nodes(1);
  // 8 GPUs: `first` leaves two; `wide` waits for it; `long` would delay `wide`, `short` would not.
  const std::vector<ClusterJob> jobs{job_of("first", 0, 6, 10), job_of("wide", 1, 8, 5), job_of("long", 2, 2, 9),
                                     job_of("short", 3, 2, 4)};
  EXPECT_THAT(ends(run_on(cluster, jobs)), ElementsAre(10, 15, 24, 19));
  EXPECT_THAT(ends(run_on(cluster, jobs, {.queue = "backfill"})), ElementsAre(10, 15, 24, 7));
}

TEST(Queues, ShortestJobGoesFirst) {
  const ClusterSpec cluster = a100_nodes(1);
  const std::vector<ClusterJob> jobs{job_of("a", 0, 8, 10), job_of("b", 1, 8, 9), job_of("c", 2, 8, 1)};
  EXPECT_THAT(ends(run_on(cluster, jobs)), ElementsAre(10, 19, 20));
  EXPECT_THAT(ends(run_on(cluster, jobs, {.queue = "sjf"})), ElementsAre(10, 20, 11));
}

TEST(Queues, JobsLargerThanTheClusterAreRefused) {
  const ClusterSpec cluster = a100_nodes(2);
  const std::vector<ClusterJob> jobs{job_of("huge", 0, 17, 10)};
  EXPECT_THROW(run_on(cluster, jobs), RunError);
  const std::vector<ClusterJob> whole{job_of("whole", 0, 16, 10)};
  EXPECT_THAT(ends(run_on(cluster, whole)), ElementsAre(10));
  EXPECT_THROW(run_on(cluster, whole, {.faults = {.spares = 1}}), RunError);
}

// Two equal jobs that compute for 1 and communicate for 1. Who begins meets the other half of the time: 1 + 1 / 2.
constexpr double kSlowdown = 2.5 / 2;

TEST(Contention, TwoEqualJobsMeetHalfOfTheTime) {
  LinkContention links(1);
  const AloneTimes alone{Seconds(1), Seconds(1)};
  links.add(0, alone, {{0, 1.0}});
  EXPECT_TRUE(links.settle().empty());
  links.add(1, alone, {{0, 1.0}});
  EXPECT_THAT(links.settle(), ElementsAre(0, 1));
  EXPECT_NEAR(links.time_of(0).value(), 2 * kSlowdown, 1e-6);
  EXPECT_NEAR(links.time_of(1).value(), 2 * kSlowdown, 1e-6);
  links.remove(1);
  EXPECT_THAT(links.settle(), ElementsAre(0));
  EXPECT_EQ(links.time_of(0).value(), 2);
}

TEST(Contention, LinksThatAreWideEnoughSlowNobody) {
  LinkContention links(2);
  const AloneTimes alone{Seconds(1), Seconds(1)};
  links.add(0, alone, {{0, 0.5}, {1, 1.0}});
  links.add(1, alone, {{0, 0.5}});
  EXPECT_TRUE(links.settle().empty());
}

TEST(Contention, OfPureCommunicationEveryoneGetsItsShare) {
  LinkContention links(1);
  for (std::uint32_t job = 0; job < 5; ++job) links.add(job, {Seconds(0), Seconds(1)}, {{0, 1.0}});
  static_cast<void>(links.settle());
  for (std::uint32_t job = 0; job < 5; ++job) EXPECT_NEAR(links.time_of(job).value(), 5, 1e-9);
}

TEST(Contention, JobsAcrossTheSameUpLinksSlowEachOther) {
  const ClusterSpec cluster = narrow_tree(4);
  // The blocker has node 0, so a gets 1 and 2, and later b gets 0 and 3: both cross the spine.
  const std::vector<ClusterJob> jobs{job_of("blocker", 0, 1, 1), job_of("a", 0.1, 2, 1000, 0.5),
                                     job_of("b", 2, 2, 1000, 0.5)};
  const JobsResult shared = run_on(cluster, jobs, {.placement = "first_fit"});
  const double a = 2 + 998.1 * kSlowdown;
  EXPECT_NEAR(shared.records[1].end.value(), a, 1e-3);
  EXPECT_NEAR(shared.records[2].end.value(), a + 1000 - (a - 2) / kSlowdown, 1e-3);
  EXPECT_NEAR(shared.records[1].slowed.value(), a - 1000.1, 1e-3);
  const JobsResult apart = run_on(cluster, jobs, {.placement = "first_fit", .contention = false});
  EXPECT_NEAR(apart.records[2].end.value(), 1002, 1e-9);
}

TEST(Traffic, JobsSpreadOverNodesCommunicateAsTheirSlowestLink) {
  const ClusterSpec cluster = a100_nodes(2);
  const std::vector<ClusterJob> jobs{job_of("a", 0, 2, 10, 0.5)};
  // Rings of two GPUs: over NVLink 300 GB/s, over one NIC of 25 GB/s each way.
  const double slower = cluster.node.gpu_link / cluster.node.port_bandwidth();
  EXPECT_NEAR(run_on(cluster, jobs, {.placement = "spread"}).makespan.value(), 5 + 5 * slower, 1e-9);
  EXPECT_EQ(run_on(cluster, jobs).makespan.value(), 10);
}

}  // namespace
}  // namespace tessera::testing
