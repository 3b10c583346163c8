// What people ask of jobs that share a cluster, and of a run whose hardware fails; pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/json.hpp"
#include "sim/config/packing_text.hpp"
#include "sim/place/jobs/checkpointing.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

struct TimeSpread {
  Seconds mean, p50, p99;  // nearest rank
};

/// A part of the run's time; means over it.
struct ClusterBin {
  Seconds at;
  double busy_ratio = 0, out_ratio = 0;  // of all GPUs
  double fragmented_ratio = 0;           // of free GPUs, those on nodes that others are on
  double waiting = 0;                    // jobs
};

struct JobsMeasures {
  Seconds makespan;
  TimeSpread completion;           // from arrival to end
  TimeSpread waiting;              // without GPUs
  double slowdown = 0;             // mean of completion / alone
  double busy_ratio = 0;           // GPU-seconds held over GPUs x makespan
  double fragmented_ratio = 0;     // mean over time in which GPUs are free
  double scattered_ratio = 0;      // jobs that ran on more nodes than they need
  double jain = 1;                 // Jain's index of alone / completion: 1 is fair
  double finish_fairness = 0;      // mean of completion / what a fair share of the cluster would have given
  double finish_unfair_ratio = 0;  // jobs for which that is above 1
  double goodput_ratio = 1;        // useful GPU-seconds over those held
  Seconds useful, slowed, redone, checkpointing, restarting;  // x GPUs, over all jobs; they add up to those held
  std::int64_t interruptions = 0;
  std::vector<ClusterBin> over_time;  // of equal length
};
JobsMeasures measure_jobs(const ClusterSpec& cluster, std::span<const ClusterJob> jobs, const JobsResult& result);

struct JobsSummary {
  std::string scenario, run;
  ClusterSpec cluster;
  JobsOptions options;
  std::vector<ClusterJob> jobs;
  JobsResult result{};
  JobsMeasures measures{};
  std::int64_t never_ran = 0;
};
std::string jobs_text(const JobsSummary& summary);
Json jobs_json(const JobsSummary& summary);
/// A row per job.
std::string jobs_csv(const JobsSummary& summary);
/// Nodes over time with the jobs in colours, and the GPUs in use and the queue below.
std::string jobs_svg(const JobsSummary& summary);
/// Chrome trace events: a thread per node, a span per job and stay.
void jobs_trace(const JobsSummary& summary, PackingText& out);

struct ReliabilitySummary {
  FaultSpec faults;
  CheckpointStudy study;
  int gpus = 1;
  Seconds duration, step;  // of the training without failures; of one step
};
std::string reliability_text(const ReliabilitySummary& summary);
Json reliability_json(const ReliabilitySummary& summary);

}  // namespace tessera
