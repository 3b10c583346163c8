// A run of many jobs on one cluster, from its section to its measures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/app/scenario.hpp"
#include "sim/place/jobs/job.hpp"
#include "sim/report/jobs.hpp"

namespace tessera {

/// Every name resolved. Jobs of one kind do the same steps.
struct JobsRunSpec {
  std::string scenario, name;
  ClusterSpec cluster;
  std::vector<ClusterJob> jobs;     // by arrival; `alone` of those with a kind: not yet known
  std::vector<RunSpec> kinds;       // of jobs with a workload
  std::vector<std::int64_t> steps;  // parallel to kinds
  JobsOptions options;
  std::int64_t never_ran = 0;  // of a trace
};

/// The run that a job with a workload is when it is alone.
RunSection run_of_job(const RunSection& section, const JobSection& job);

/// What is wrong between jobs and their cluster; empty: nothing.
std::vector<std::string> job_mistakes(const RunSection& section);

JobsRunSpec resolve_jobs(const Scenario& scenario, const RunSection& section);

/// RunError where a job cannot be done.
JobsSummary run_job_mix(const JobsRunSpec& spec, const LatencyModel& latency);

/// Failures of a single training run: how long `duration` of it takes, and the best checkpoint interval.
ReliabilitySummary study_reliability(const RunSpec& spec, const ReliabilitySection& section, Seconds step,
                                     std::uint64_t seed);

}  // namespace tessera
