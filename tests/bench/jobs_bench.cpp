// Jobs on a cluster, by the number of jobs: the cost per job must stay flat.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/place/jobs/job.hpp"

namespace {

using namespace tessera;

/// Mostly one GPU, some nodes, a few of many; 85 % of the cluster on the mean.
std::vector<ClusterJob> mix(int count, int gpus) {
  Rng rng(1);
  std::vector<ClusterJob> jobs;
  constexpr int kSizes[] = {1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 16, 32};
  constexpr double kMeanGpus = 76.0 / 12, kMeanTime = 3600;
  const double interarrival = kMeanGpus * kMeanTime / (0.85 * gpus);
  Seconds at;
  for (int i = 0; i < count; ++i) {
    at += Seconds(-std::log(1 - rng.uniform()) * interarrival);
    ClusterJob job{.arrival = at, .gpus = kSizes[rng.below(12)]};
    job.alone = Seconds(-std::log(1 - rng.uniform()) * kMeanTime);
    if (job.gpus > 1) job.communication = 0.1;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void run(benchmark::State& state, const char* placement, const char* queue, bool faults) {
  const ClusterSpec cluster = find_cluster("fat-tree-h100-2to1", 128);
  const Topology topology(cluster);
  const std::vector<ClusterJob> jobs = mix(static_cast<int>(state.range(0)), cluster.gpus());
  JobsOptions options{.placement = placement, .queue = queue, .record_stays = false};
  if (faults) {
    options.faults.gpu_mtbf = Seconds(50000 * 3600.0), options.faults.repair = Seconds(86400);
    options.faults.checkpoint_interval = Seconds(1800), options.faults.checkpoint_cost = Seconds(60);
    options.faults.spares = 4;
  }
  for (auto _ : state) benchmark::DoNotOptimize(run_jobs({cluster, topology, jobs, options}).makespan);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void packed(benchmark::State& state) {
  run(state, "packed", "backfill", false);
}
void first_fit(benchmark::State& state) {
  run(state, "first_fit", "fifo", false);
}
void failing(benchmark::State& state) {
  run(state, "packed", "backfill", true);
}
BENCHMARK(packed)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(first_fit)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(failing)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
