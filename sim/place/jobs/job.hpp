// Jobs that share a cluster: what is asked, what is left to chance, and what became of each; plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"

namespace tessera {

/// A gang: it runs on all of its GPUs at once, or waits.
struct ClusterJob {
  std::string name{};
  Seconds arrival{};
  int gpus = 1;
  Seconds alone{};           // what it takes on the fewest nodes of an idle cluster, without checkpoints
  double communication = 0;  // share of `alone` in which it only communicates
  int kind = -1;             // of a workload that is simulated; -1: known by the above alone
};

/// What a job takes alone on given GPUs. `communication` grows when others use its links, `compute` does not.
struct AloneTimes {
  Seconds compute, communication;
};
using AloneModel = std::function<AloneTimes(const ClusterJob& job, std::span<const int> gpus)>;

/// Components fail at exponential intervals. MTBF of one component; none: it never fails.
struct FaultSpec {
  std::optional<Seconds> gpu_mtbf{}, node_mtbf{},
      link_mtbf{};                               // a link: one cable between nodes or switches, both ways
  Seconds repair{0};                             // the node of a failed GPU is out of service as long
  int spares = 0;                                // nodes of the cluster that stand by for failed ones
  std::optional<Seconds> checkpoint_interval{};  // of computing; none: an interrupted job begins anew
  Seconds checkpoint_cost{0};                    // the job stands still
  Seconds restart{0};                            // until it computes again, with its GPUs
  [[nodiscard]] bool any() const { return gpu_mtbf || node_mtbf || link_mtbf; }
};

struct JobsOptions {
  std::string placement = "packed", queue = "fifo";
  bool contention = true;  // jobs share links; false: each has the fabric to itself
  FaultSpec faults{};
  std::uint64_t seed = 1;
  bool record_stays = true;
};

/// `jobs` by arrival.
struct JobsInput {
  const ClusterSpec& cluster;
  const Topology& topology;
  std::span<const ClusterJob> jobs;
  JobsOptions options;
  AloneModel alone{};  // empty: `TrafficModel` alone
};

/// What became of a job. Its time on GPUs: alone + slowed + redone + checkpointing + restarting.
struct JobRecord {
  Seconds start, end;      // the first start
  Seconds waited;          // without GPUs, from arrival to end
  Seconds held;            // with GPUs
  Seconds slowed;          // by its places (negative where they are better) and by other jobs
  Seconds redone;          // computing that an interruption threw away
  Seconds checkpointing;   // writing checkpoints
  Seconds restarting;      // after interruptions
  int interruptions = 0;   // by failures
  int nodes = 0;           // that it ran on, at most
  double jobs_beside = 1;  // mean number of jobs in the system between arrival and end, itself included
};

/// A job on its GPUs, until it ended or was interrupted.
struct JobStay {
  std::uint32_t job = 0;
  Seconds start, end;
  std::vector<int> gpus;
};

/// The cluster from `at` on.
struct UsageChange {
  Seconds at;
  int busy = 0;        // GPUs
  int free = 0;        // GPUs in service that nobody has
  int whole_free = 0;  // of these, on nodes that nobody is on
  int out = 0;         // GPUs out of service, standing by or waiting for repair
  int waiting = 0;     // jobs
};

struct JobsResult {
  std::vector<JobRecord> records;  // parallel to the jobs
  std::vector<JobStay> stays;      // by start
  std::vector<UsageChange> usage;  // by date
  Seconds makespan;                // end of the last job
  std::int64_t failures = 0;       // of components in service
  std::int64_t events = 0;
};

/// Runs all jobs to their end. RunError where that would take for ever: checkpoints too rare for the failures.
JobsResult run_jobs(const JobsInput& input);

}  // namespace tessera
