#include "sim/app/jobs/jobs_run.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/app/jobs/job_trace.hpp"
#include "sim/app/scenario_checks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/des/simulate.hpp"
#include "sim/place/jobs/checkpointing.hpp"
#include "sim/place/jobs/gang.hpp"
#include "sim/place/jobs/traffic.hpp"

namespace tessera {

namespace {

constexpr Seconds kTrainingTime(30 * 86400.0);
constexpr int kTrials = 20;

int world_of(const JobSection& job) {
  const ParallelSection& p = job.parallel;
  const std::int64_t replica = p.gpus();
  return static_cast<int>(p.dp ? replica * *p.dp : std::int64_t{job.gpus.value_or(static_cast<int>(replica))});
}

/// Steps of one kind of job on the GPUs that it gets: simulated once for each shape of places.
class PlacedSteps {
 public:
  PlacedSteps(const RunSpec& spec, const LatencyModel& latency) : spec_(spec), first_(run(spec, latency)) {
    std::vector<int> gpus(static_cast<std::size_t>(first_.summary.gpus));
    std::iota(gpus.begin(), gpus.end(), 0);
    times_[shape_of(gpus)] = times_of(first_.trace);
  }

  [[nodiscard]] Seconds alone() const { return first_.trace.makespan; }

  AloneTimes at(std::span<const int> gpus) {
    const auto [entry, fresh] = times_.try_emplace(shape_of(gpus));
    if (fresh)
      entry->second = times_of(simulate_isolated(
          {spec_.cluster, first_.plan, first_.costs, Placement{{gpus.begin(), gpus.end()}}, spec_.simulation}));
    return entry->second;
  }

 private:
  /// Nodes in the order in which they appear: places that differ by whole nodes are alike.
  [[nodiscard]] std::vector<int> shape_of(std::span<const int> gpus) const {
    const int per_node = spec_.cluster.node.gpus;
    std::map<int, int> nodes;
    std::vector<int> shape;
    for (const int gpu : gpus) {
      const auto number = static_cast<int>(nodes.size());
      const int node = nodes.try_emplace(gpu / per_node, number).first->second;
      shape.push_back(node * per_node + gpu % per_node);
    }
    return shape;
  }
  static AloneTimes times_of(const Trace& trace) {
    Seconds exposed;
    for (const GpuUse& gpu : trace.gpus) exposed = max(exposed, gpu.exposed_communication);
    return {trace.makespan - exposed, exposed};
  }

  const RunSpec& spec_;
  RunResult first_;
  std::map<std::vector<int>, AloneTimes> times_;
};

/// What jobs take on their GPUs, by workload or by what is said of them.
class JobTimes {
 public:
  JobTimes(const JobsRunSpec& spec, const Topology& topology, const LatencyModel& latency)
      : spec_(spec), traffic_(spec.cluster, topology) {
    for (const RunSpec& kind : spec.kinds) kinds_.emplace_back(kind, latency);
  }
  void set_alone(std::vector<ClusterJob>& jobs) const {
    for (ClusterJob& job : jobs)
      if (job.kind >= 0) job.alone = kinds_[at(job)].alone() * steps(job);
  }
  AloneTimes operator()(const ClusterJob& job, std::span<const int> gpus) {
    if (job.kind < 0) return traffic_.alone(job, gpus);
    const AloneTimes step = kinds_[at(job)].at(gpus);
    return {step.compute * steps(job), step.communication * steps(job)};
  }

 private:
  static std::size_t at(const ClusterJob& job) { return static_cast<std::size_t>(job.kind); }
  [[nodiscard]] double steps(const ClusterJob& job) const { return static_cast<double>(spec_.steps[at(job)]); }

  const JobsRunSpec& spec_;
  TrafficModel traffic_;
  std::vector<PlacedSteps> kinds_;
};

}  // namespace

RunSection run_of_job(const RunSection& section, const JobSection& job) {
  RunSection run;
  run.name = job.name;
  run.workload = *job.workload;
  run.parallel = job.parallel;
  run.cluster = section.cluster, run.nodes = section.nodes;
  run.gpus = world_of(job);
  return run;
}

std::vector<std::string> job_mistakes(const RunSection& section) {
  std::vector<std::string> wrong;
  const ClusterSpec cluster = platform_of(section);
  const int spares = section.reliability ? section.reliability->spares : 0;
  if (spares >= cluster.nodes) return {fmt::format("{} spares leave none of {} nodes", spares, cluster.nodes)};
  const int most = (cluster.nodes - spares) * cluster.node.gpus;
  const std::string there = fmt::format("{} has {}{}", cluster.name, most, spares > 0 ? " without its spares" : "");
  const auto check = [&](std::string_view name, int gpus) {
    if (gpus > most) wrong.push_back(fmt::format("{}: {} GPUs are asked for, {}", name, gpus, there));
    return gpus <= most;
  };
  for (const JobSection& job : section.jobs->list) {
    if (!check(job.name, job.workload ? world_of(job) : *job.gpus) || !job.workload) continue;
    if (job.gpus && *job.gpus != world_of(job))
      wrong.push_back(fmt::format("{}: gpus is {}, and tp x pp x cp x dp is {}", job.name, *job.gpus, world_of(job)));
    Reader::Sink sink;
    const Node none{.kind = Node::Kind::map};
    Reader reader(sink, &none, "");
    check_together(reader, run_of_job(section, job));
    for (const Diagnostic& mistake : sink.errors) wrong.push_back(fmt::format("{}: {}", job.name, mistake.message));
  }
  if (section.jobs->trace)
    for (const ClusterJob& job : trace_jobs(*section.jobs->trace, read_job_trace(section.jobs->trace->file)))
      if (!check("job " + job.name + " of the trace", job.gpus)) break;
  if (section.jobs->synthetic)
    for (const auto& [size, share] : section.jobs->synthetic->gpus) check("synthetic", *gpus_of(size));
  return wrong;
}

JobsRunSpec resolve_jobs(const Scenario& scenario, const RunSection& section) {
  JobsRunSpec spec;
  spec.scenario = scenario.name, spec.name = section.name;
  spec.cluster = platform_of(section);
  const JobsSection& jobs = *section.jobs;
  for (const JobSection& job : jobs.list) {
    ClusterJob one{.name = job.name, .arrival = job.arrival};
    one.gpus = job.workload ? world_of(job) : *job.gpus;
    one.alone = job.duration.value_or(Seconds());
    one.communication = job.communication;
    if (job.workload) {
      one.kind = static_cast<int>(spec.kinds.size());
      spec.kinds.push_back(resolve(scenario, run_of_job(section, job)));
      spec.steps.push_back(job.steps);
    }
    spec.jobs.push_back(std::move(one));
  }
  const auto append = [&](std::vector<ClusterJob> more) { std::ranges::move(more, std::back_inserter(spec.jobs)); };
  if (jobs.trace) {
    JobTrace trace = read_job_trace(jobs.trace->file);
    spec.never_ran = trace.never_ran;
    append(trace_jobs(*jobs.trace, std::move(trace)));
  }
  const auto seed = static_cast<std::uint64_t>(scenario.seed);
  if (jobs.synthetic) append(synthetic_jobs(*jobs.synthetic, Rng(seed, 3)));
  std::ranges::stable_sort(spec.jobs, {}, &ClusterJob::arrival);
  spec.options = {.placement = jobs.placement, .queue = jobs.queue, .contention = jobs.contention, .seed = seed};
  if (section.reliability) spec.options.faults = fault_spec(*section.reliability);
  return spec;
}

JobsSummary run_job_mix(const JobsRunSpec& spec, const LatencyModel& latency) {
  const Topology topology(spec.cluster);
  JobTimes times(spec, topology, latency);
  JobsSummary summary{.scenario = spec.scenario,
                      .run = spec.name,
                      .cluster = spec.cluster,
                      .options = spec.options,
                      .jobs = spec.jobs,
                      .never_ran = spec.never_ran};
  times.set_alone(summary.jobs);
  const auto alone = [&](const ClusterJob& job, std::span<const int> gpus) { return times(job, gpus); };
  summary.result = run_jobs({spec.cluster, topology, summary.jobs, spec.options, alone});
  summary.measures = measure_jobs(spec.cluster, summary.jobs, summary.result);
  return summary;
}

ReliabilitySummary study_reliability(const RunSpec& spec, const ReliabilitySection& section, Seconds step,
                                     std::uint64_t seed) {
  const Topology topology(spec.cluster);
  const int gpus = spec.parallel.world_size();
  const std::vector<ClusterJob> jobs{
      {.name = spec.name, .gpus = gpus, .alone = section.duration.value_or(kTrainingTime)}};
  JobsOptions options{.faults = fault_spec(section), .seed = seed};
  const CheckpointStudy study =
      study_checkpoints({spec.cluster, topology, jobs, options}, section.trials.value_or(kTrials));
  return {.faults = options.faults, .study = study, .gpus = gpus, .duration = jobs.front().alone, .step = step};
}

}  // namespace tessera
