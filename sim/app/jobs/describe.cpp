// Every key of jobs on a cluster and of its failures, its default and its checks.
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "sim/app/jobs/job_trace.hpp"
#include "sim/app/jobs/section.hpp"
#include "sim/app/scenario_checks.hpp"
#include "sim/place/jobs/gang.hpp"
#include "sim/place/jobs/scheduler.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kMostJobs = 10'000'000;
constexpr int kMostTrials = 10'000;
constexpr double kMostSpread = 5;

void check_above_zero(Reader& r, std::string_view key, Seconds time) {
  if (r.has(key) && !(time > Seconds())) r.error(key, "must be positive");
}
void check_above_zero(Reader& r, std::string_view key, const std::optional<Seconds>& time) {
  if (time) check_above_zero(r, key, *time);
}

void check_jobs(Reader& r, std::int64_t jobs, std::int64_t least) {
  if (r.has("jobs") && (jobs < least || jobs > kMostJobs))
    r.error("jobs", fmt::format("found {}, expected {} to {}", jobs, least, kMostJobs));
}

void check_sizes(Reader& r, const SyntheticJobsSection& s) {
  double sum = 0;
  for (const auto& [size, weight] : s.gpus) {
    if (!gpus_of(size))
      r.error("gpus",
              fmt::format("'{}' is no number of GPUs; write {{1: 0.7, 8: 0.3}}: GPUs, and the share of jobs", size));
    if (!(weight > 0)) r.error("gpus", fmt::format("{}: the share of jobs must be positive, found {}", size, weight));
    sum += weight;
  }
  if (s.gpus.empty()) r.error("gpus", "is empty; write {1: 0.7, 8: 0.3}: GPUs, and the share of jobs");
  if (r.ok() && std::abs(sum - 1) > 1e-6)
    r.error("gpus", fmt::format("the shares of jobs add up to {}, not to 1", sum));
}

}  // namespace

void check_communication(Reader& r, double share) {
  if (!(share >= 0 && share < 1))
    r.error("communication", fmt::format("found {}, expected 0 or more and less than 1", share));
}

std::optional<int> gpus_of(std::string_view text) {
  int gpus = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gpus);
  if (error != std::errc() || end != text.data() + text.size() || gpus < 1) return std::nullopt;
  return gpus;
}

void describe(Reader& r, JobTraceSection& s) {
  r.required("file", s.file,
             "a trace: .swf (Standard Workload Format), or CSV with columns job_id, submit_s, gpus, duration_s, and "
             "perhaps communication; its user, vc and status are not looked at");
  r.optional("jobs", s.jobs, "only the first so many; 0: all");
  r.optional("communication", s.communication,
             "share of the time of jobs on several GPUs in which they only communicate, where the trace has none");
  check_jobs(r, s.jobs, 0);
  check_communication(r, s.communication);
  if (r.has("file") && r.ok()) look_up(r, "file", [&] { read_job_trace(s.file); });
}

void describe(Reader& r, SyntheticJobsSection& s) {
  r.required("jobs", s.jobs, "how many");
  r.required("interarrival", s.interarrival, "mean time between two arrivals, Poisson");
  r.required("duration", s.duration, "of a job alone: the mean, or of lognormal the median");
  r.optional("lengths", s.lengths, "how durations are distributed");
  r.optional("spread", s.spread, "lognormal: standard deviation of the logarithm");
  r.required("gpus", s.gpus, "share of the jobs by their number of GPUs: {1: 0.7, 8: 0.3}");
  r.optional("communication", s.communication,
             "share of the time of jobs on several GPUs in which they only communicate");
  check_jobs(r, s.jobs, 1);
  check_above_zero(r, "interarrival", s.interarrival);
  check_above_zero(r, "duration", s.duration);
  check_communication(r, s.communication);
  if (!(s.spread >= 0 && s.spread <= kMostSpread))
    r.error("spread", fmt::format("found {}, expected 0 to {}", s.spread, kMostSpread));
  if (r.has("spread") && s.lengths != Lengths::lognormal) r.error("spread", "is of lognormal lengths");
  if (r.has("gpus") && r.ok()) check_sizes(r, s);
}

void describe(Reader& r, ReliabilitySection& s) {
  r.optional("gpu_mtbf", s.gpu_mtbf, "mean time between failures of one GPU (exponential)");
  r.optional("node_mtbf", s.node_mtbf, "of one node, beside its GPUs");
  r.optional("link_mtbf", s.link_mtbf, "of one cable between nodes or switches; traffic finds another way at once");
  r.optional("repair", s.repair, "a failed GPU's or node's node takes no new jobs for so long");
  r.optional("spares", s.spares, "nodes of the cluster that stand by for failed ones");
  r.optional("checkpoint_interval", s.checkpoint_interval,
             "computing between two checkpoints; default: of one run the best, of many jobs none");
  r.optional("checkpoint_cost", s.checkpoint_cost, "time that a job stands still for a checkpoint");
  r.optional("restart", s.restart, "from new GPUs to computing again");
  r.optional("duration", s.duration, "of one training run, without failures; default 30 d");
  r.optional("trials", s.trials, "of one training run, per checkpoint interval; default 20");
  for (const auto& [key, time] : {std::pair{"gpu_mtbf", s.gpu_mtbf},
                                  {"node_mtbf", s.node_mtbf},
                                  {"link_mtbf", s.link_mtbf},
                                  {"checkpoint_interval", s.checkpoint_interval},
                                  {"duration", s.duration}})
    check_above_zero(r, key, time);
  if (s.spares < 0) r.error("spares", fmt::format("must not be negative, found {}", s.spares));
  if (s.trials && (*s.trials < 2 || *s.trials > kMostTrials))
    r.error("trials", fmt::format("found {}, expected 2 to {}", *s.trials, kMostTrials));
  if (!r.printing() && !s.gpu_mtbf && !s.node_mtbf && !s.link_mtbf)
    r.error("", "missing key 'gpu_mtbf', 'node_mtbf' or 'link_mtbf': nothing fails");
}

FaultSpec fault_spec(const ReliabilitySection& s) {
  return {.gpu_mtbf = s.gpu_mtbf,
          .node_mtbf = s.node_mtbf,
          .link_mtbf = s.link_mtbf,
          .repair = s.repair,
          .spares = s.spares,
          .checkpoint_interval = s.checkpoint_interval,
          .checkpoint_cost = s.checkpoint_cost,
          .restart = s.restart};
}

void describe(Reader& r, JobSection& s) {
  r.required("name", s.name, "of the job, in every table");
  r.optional("arrival", s.arrival, "when it comes");
  r.optional("gpus", s.gpus, "that it runs on, all at once");
  r.optional("duration", s.duration, "alone on the fewest nodes; or:");
  r.optional("communication", s.communication, "with duration: share of it in which the job only communicates");
  if (Node any; r.printing()) {
    r.optional("workload", any, "what it computes, as of a run: its steps are simulated on the GPUs that it gets");
    r.optional("parallel", any, "with workload: how it is spread, as of a run");
  } else {
    r.optional("workload", s.workload, "");
    r.optional("parallel", s.parallel, "");
  }
  r.optional("steps", s.steps, "with workload: how many");
  if (r.has("name") && s.name.empty()) r.error("name", "is empty");
  check_positive(r, "gpus", s.gpus);
  check_above_zero(r, "duration", s.duration);
  check_communication(r, s.communication);
  if (r.has("steps") && s.steps < 1) r.error("steps", fmt::format("must be positive, found {}", s.steps));
  if (r.printing() || !r.ok()) return;
  if (s.workload.has_value() == s.duration.has_value())
    return r.error(
        "", s.duration ? "both 'duration' and 'workload' are given; keep one" : "missing key 'duration' or 'workload'");
  if (s.duration && !s.gpus) r.error("", "missing key 'gpus'");
  for (const char* key : {"parallel", "steps"})
    if (s.duration && r.has(key)) r.error(key, "is of a job with a workload");
  if (s.workload && r.has("communication")) r.error("communication", "follows from the workload; leave it out");
  if (s.workload && !r.has("steps")) r.error("", "missing key 'steps'");
  if (s.duration && s.communication > 0 && s.gpus == 1) r.error("communication", "one GPU has nobody to talk to");
}

void describe(Reader& r, JobsSection& s) {
  r.optional("list", s.list, "jobs one by one; and/or:");
  r.optional("trace", s.trace, "jobs from a file; and/or:");
  r.optional("synthetic", s.synthetic, "jobs at random");
  r.optional("placement", s.placement, "which GPUs a job gets (`tessera list policies`)");
  r.optional("queue", s.queue, "who starts next (`tessera list policies`)");
  r.optional("contention", s.contention, "jobs share links; false: each has the fabric to itself");
  if (r.printing()) return;
  look_up(r, "placement", [&] { find_gang_policy(s.placement); });
  look_up(r, "queue", [&] { find_queue_rule(s.queue); });
  if (!r.has("list") && !r.has("trace") && !r.has("synthetic"))
    r.error("", "missing key 'list', 'trace' or 'synthetic': there are no jobs");
  if (r.has("list") && r.ok() && s.list.empty()) r.error("list", "at least one job is needed");
  std::set<std::string> names;
  for (const JobSection& job : s.list)
    if (!names.insert(job.name).second) r.error("list", fmt::format("two jobs are named '{}'", job.name));
}

}  // namespace tessera
