// Random jobs on random clusters keep what must be kept; queues meet their closed forms.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/place/jobs/contention.hpp"
#include "sim/place/jobs/gang.hpp"
#include "sim/place/jobs/scheduler.hpp"
#include "tests/unit/place/job_cluster.hpp"

namespace tessera::testing {
namespace {

double exponential(Rng& rng, double mean) {
  return -std::log(1 - rng.uniform()) * mean;
}

struct RandomMix {
  ClusterSpec cluster;
  std::vector<ClusterJob> jobs;
  JobsOptions options;
};

RandomMix random_mix(std::uint64_t seed) {
  Rng rng(seed);
  RandomMix mix{.cluster = a100_nodes(1 + static_cast<int>(rng.below(5))), .jobs = {}, .options = {}};
  const std::uint32_t spares = mix.cluster.nodes > 2 ? rng.below(2) : 0;
  const std::uint32_t gpus = static_cast<std::uint32_t>(mix.cluster.gpus()) - 8 * spares;
  double at = 0;
  for (std::uint32_t i = 0, count = 5 + rng.below(60); i < count; ++i) {
    at += exponential(rng, 20);
    const auto wanted = static_cast<int>(1 + rng.below(rng.below(3) == 0 ? gpus : std::min(gpus, 4U)));
    mix.jobs.push_back(
        job_of(std::to_string(i), at, wanted, 1 + exponential(rng, 100), wanted > 1 ? 0.8 * rng.uniform() : 0));
  }
  mix.options.placement = gang_policies()[rng.below(static_cast<std::uint32_t>(gang_policies().size()))].name;
  mix.options.queue = queue_rules()[rng.below(static_cast<std::uint32_t>(queue_rules().size()))].name;
  mix.options.seed = seed;
  if (rng.below(2) == 0) return mix;
  FaultSpec& faults = mix.options.faults;
  faults.spares = static_cast<int>(spares);
  faults.gpu_mtbf = Seconds(8000), faults.node_mtbf = Seconds(20000), faults.link_mtbf = Seconds(30000);
  faults.repair = Seconds(rng.below(2) * 50.0), faults.restart = Seconds(2);
  faults.checkpoint_interval = Seconds(15), faults.checkpoint_cost = Seconds(0.5);
  return mix;
}

JobsResult run(const RandomMix& mix) {
  return run_on(mix.cluster, mix.jobs, mix.options);
}

constexpr int kMixes = 150;

TEST(Jobs, NoGpuIsHeldTwiceAndEveryJobHasItsGpus) {
  for (int seed = 0; seed < kMixes; ++seed) {
    const RandomMix mix = random_mix(static_cast<std::uint64_t>(seed));
    std::map<int, std::vector<std::pair<Seconds, Seconds>>> held;
    for (const JobStay& stay : run(mix).stays) {
      ASSERT_EQ(static_cast<int>(stay.gpus.size()), mix.jobs[stay.job].gpus);
      for (const int gpu : stay.gpus) held[gpu].emplace_back(stay.start, stay.end);
    }
    for (auto& [gpu, stays] : held) {
      ASSERT_TRUE(0 <= gpu && gpu < mix.cluster.gpus());
      std::ranges::sort(stays);
      for (std::size_t i = 1; i < stays.size(); ++i) ASSERT_LE(stays[i - 1].second, stays[i].first) << seed;
    }
  }
}

TEST(Jobs, GpuSecondsAddUp) {
  for (int seed = 0; seed < kMixes; ++seed) {
    const RandomMix mix = random_mix(static_cast<std::uint64_t>(seed));
    const JobsResult result = run(mix);
    double stays = 0, held = 0, busy = 0;
    for (const JobStay& stay : result.stays)
      stays += (stay.end - stay.start).value() * static_cast<double>(stay.gpus.size());
    for (std::size_t i = 0; i < mix.jobs.size(); ++i) {
      const JobRecord& r = result.records[i];
      held += r.held.value() * mix.jobs[i].gpus;
      ASSERT_NEAR((r.end - mix.jobs[i].arrival).value(), (r.waited + r.held).value(), 1e-6);
      const Seconds parts = mix.jobs[i].alone + r.slowed + r.redone + r.checkpointing + r.restarting;
      ASSERT_NEAR(parts.value(), r.held.value(), 1e-6);
      // The fewest nodes are the best but for uneven ones: 8 + 1 GPUs have one ring, 5 + 4 or 3 + 3 + 3 may have more.
      if (mix.jobs[i].gpus <= 8 || mix.jobs[i].gpus % 8 == 0) {
        ASSERT_GT(r.slowed.value(), -1e-6);
      }
      if (mix.jobs[i].gpus == 1) {
        ASSERT_NEAR(r.slowed.value(), 0, 1e-6);
      }
    }
    for (std::size_t i = 1; i < result.usage.size(); ++i)
      busy += result.usage[i - 1].busy * (result.usage[i].at - result.usage[i - 1].at).value();
    ASSERT_NEAR(stays, held, 1e-6 * held) << seed;
    ASSERT_NEAR(busy, held, 1e-6 * held) << seed;
  }
}

TEST(Jobs, AJobOfOneGpuNeverWaitsWhileOneIsFree) {
  for (int seed = 0; seed < kMixes; ++seed) {
    RandomMix mix = random_mix(static_cast<std::uint64_t>(seed));
    for (ClusterJob& job : mix.jobs) job.gpus = 1, job.communication = 0;
    for (ClusterJob& job : mix.jobs) job.arrival *= 0.01;
    for (const UsageChange& usage : run(mix).usage) ASSERT_TRUE(usage.waiting == 0 || usage.free == 0) << seed;
  }
}

TEST(Jobs, OnAClusterForAllNobodyWaits) {
  for (int seed = 0; seed < kMixes; ++seed) {
    RandomMix mix = random_mix(static_cast<std::uint64_t>(seed));
    mix.options.faults = {};
    const int gpus = std::accumulate(mix.jobs.begin(), mix.jobs.end(), 0,
                                     [](int sum, const ClusterJob& job) { return sum + job.gpus; });
    mix.cluster = a100_nodes((gpus + 7) / 8);
    for (const JobRecord& record : run(mix).records) ASSERT_EQ(record.waited.value(), 0) << seed;
  }
}

TEST(Jobs, TheSameSeedGivesTheSameRun) {
  for (int seed = 0; seed < 20; ++seed) {
    const RandomMix mix = random_mix(static_cast<std::uint64_t>(seed));
    const JobsResult a = run(mix), b = run(mix);
    ASSERT_EQ(a.makespan, b.makespan);
    for (std::size_t i = 0; i < a.records.size(); ++i) ASSERT_EQ(a.records[i].end, b.records[i].end);
  }
}

/// Erlang's C formula: the chance that all of `c` servers are busy, at `load` busy ones on the mean.
double erlang_c(int c, double load) {
  double blocked = 1;  // Erlang B, by its recursion
  for (int n = 1; n <= c; ++n) blocked = load * blocked / (n + load * blocked);
  return blocked / (1 - load / c * (1 - blocked));
}

/// Mean time in the queue of jobs of one GPU that come and last at exponential times.
double mean_waiting(int seed, int jobs, double load, std::string_view queue) {
  Rng rng(static_cast<std::uint64_t>(seed), 7);
  std::vector<ClusterJob> all;
  double at = 0;
  for (int i = 0; i < jobs; ++i) {
    at += exponential(rng, 1 / load);
    all.push_back(job_of("", at, 1, exponential(rng, 1)));
  }
  JobsOptions options{.record_stays = false};
  options.queue = queue;
  double sum = 0;
  for (const JobRecord& record : run_on(a100_nodes(1), all, options).records) sum += record.waited.value();
  return sum / jobs;
}

TEST(Queues, MeanWaitingIsErlangC) {
  constexpr int kServers = 8, kRuns = 20, kJobs = 40000;
  constexpr double kLoad = 6.4;
  double sum = 0, squares = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    const double mean = mean_waiting(seed, kJobs, kLoad, "fifo");
    sum += mean, squares += mean * mean;
  }
  const double mean = sum / kRuns, error = std::sqrt((squares / kRuns - mean * mean) / (kRuns - 1));
  const double exact = erlang_c(kServers, kLoad) / (kServers - kLoad);
  EXPECT_NEAR(mean, exact, 3 * error);
  EXPECT_LT(error, 0.03 * exact);
}

TEST(Queues, ShortestFirstWaitsLessOnTheMean) {
  for (int seed = 0; seed < 5; ++seed)
    EXPECT_LT(mean_waiting(seed, 20000, 7.2, "sjf"), mean_waiting(seed, 20000, 7.2, "fifo"));
}

struct RandomTraffic {
  std::vector<AloneTimes> alone;
  std::vector<std::vector<LinkLoad>> loads;
};

RandomTraffic random_traffic(Rng& rng, std::uint32_t jobs, std::uint32_t links) {
  RandomTraffic traffic;
  for (std::uint32_t job = 0; job < jobs; ++job) {
    traffic.alone.push_back({Seconds(rng.uniform()), Seconds(0.1 + rng.uniform())});
    std::vector<LinkLoad> loads;
    for (std::uint32_t link = 0; link < links; ++link)
      if (rng.below(2) == 0) loads.push_back({link, loads.empty() ? 1 : 0.1 + 0.9 * rng.uniform()});
    traffic.loads.push_back(std::move(loads));
  }
  return traffic;
}

/// The right side of the equation in contention.hpp, from the others' times.
double stretch_by_hand(const RandomTraffic& traffic, const LinkContention& links, std::uint32_t job) {
  double most = 1;
  for (const LinkLoad& mine : traffic.loads[job]) {
    double sum = mine.share;
    for (std::uint32_t other = 0; other < traffic.alone.size(); ++other) {
      if (other == job) continue;
      const AloneTimes& theirs = traffic.alone[other];
      const double mine_alone =
          traffic.alone[job].communication / (traffic.alone[job].compute + traffic.alone[job].communication);
      const Seconds communication = max(theirs.communication, links.time_of(other) - theirs.compute -
                                                                  theirs.communication * (mine.share * mine_alone));
      for (const LinkLoad& load : traffic.loads[other])
        if (load.link == mine.link) sum += load.share * (communication / (theirs.compute + communication));
    }
    most = std::max(most, sum);
  }
  return most;
}

TEST(Contention, SettlesOnTheOnlySolutionWhateverTheOrder) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const std::uint32_t jobs = 2 + rng.below(8), count = 1 + rng.below(6);
    const RandomTraffic traffic = random_traffic(rng, jobs, count);
    LinkContention forth(count), back(count);
    for (std::uint32_t job = 0; job < jobs; ++job) {
      forth.add(job, traffic.alone[job], traffic.loads[job]);
      static_cast<void>(forth.settle());
    }
    for (std::uint32_t job = jobs; job-- > 0;) back.add(job, traffic.alone[job], traffic.loads[job]);
    static_cast<void>(back.settle());
    back.remove(0);  // and again: from above this time
    static_cast<void>(back.settle());
    back.add(0, traffic.alone[0], traffic.loads[0]);
    static_cast<void>(back.settle());
    for (std::uint32_t job = 0; job < jobs; ++job) {
      const AloneTimes& alone = traffic.alone[job];
      const Seconds expected = alone.compute + alone.communication * stretch_by_hand(traffic, forth, job);
      ASSERT_NEAR(forth.time_of(job) / expected, 1, 1e-5) << seed;
      ASSERT_NEAR(back.time_of(job) / forth.time_of(job), 1, 1e-5) << seed;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
