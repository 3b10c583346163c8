#include "sim/place/jobs/checkpointing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/place/jobs/failures.hpp"
#include "sim/place/jobs/traffic.hpp"

namespace tessera {

namespace {

constexpr double kNormal95 = 1.959964;  // two-sided
constexpr int kCoarse = 3;              // intervals of Young's x 2^-3 to 2^3
constexpr int kFine = 4;                // and the best of these x 2^-1 to 2^1 in steps of 2^(1/4)

Seconds job_mtbf(const JobsInput& input) {
  const ClusterJob& job = input.jobs.front();
  std::vector<int> gpus(static_cast<std::size_t>(job.gpus));
  std::iota(gpus.begin(), gpus.end(), 0);
  std::size_t links = 0;
  if (input.options.faults.link_mtbf)
    for (const LinkLoad& load : TrafficModel(input.cluster, input.topology).loads(gpus))
      if (joins_nodes(input.topology.links()[load.link])) ++links;
  return 1.0 / FailureProcess::rate(input.options.faults, job.gpus, nodes_of(gpus, input.cluster.node.gpus), links);
}

/// Mean and half of its 95 % interval.
std::pair<double, double> mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, n > 1 ? kNormal95 * std::sqrt(squares / (n - 1) / n) : 0};
}

/// The trials of one interval.
struct Trials {
  std::vector<double> goodput;
  JobRecord sum;
};

class Study {
 public:
  Study(const JobsInput& input, int trials) : input_(input), trials_(trials) {}

  const Trials& at(Seconds interval) {
    const auto [entry, fresh] = tried_.try_emplace(interval);
    if (fresh) entry->second = simulate(interval);
    return entry->second;
  }
  [[nodiscard]] GoodputPoint point(Seconds interval) {
    const auto [mean, half] = mean_of(at(interval).goodput);
    return {interval, mean, half};
  }
  [[nodiscard]] Seconds best() const {
    const auto mean = [](const auto& tried) { return mean_of(tried.second.goodput).first; };
    return std::ranges::max_element(tried_, {}, mean)->first;
  }
  /// Whether `interval` may be as good as the best: by the difference trial by trial.
  [[nodiscard]] bool as_good(Seconds interval, Seconds best) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < at(best).goodput.size(); ++i)
      differences.push_back(at(best).goodput[i] - at(interval).goodput[i]);
    const auto [mean, half] = mean_of(differences);
    return mean <= half;
  }
  [[nodiscard]] std::vector<Seconds> intervals() const {
    std::vector<Seconds> all;
    for (const auto& tried : tried_) all.push_back(tried.first);
    return all;
  }

 private:
  [[nodiscard]] Trials simulate(Seconds interval) const {
    Trials trials;
    JobsInput input = input_;
    input.options.faults.checkpoint_interval = interval;
    input.options.record_stays = false;
    input.options.contention = false;  // it is alone
    for (int trial = 0; trial < trials_; ++trial) {
      input.options.seed = input_.options.seed + static_cast<std::uint64_t>(trial);
      const JobRecord record = run_jobs(input).records.front();
      const ClusterJob& job = input.jobs.front();
      trials.goodput.push_back(job.alone / (record.end - job.arrival));
      JobRecord& sum = trials.sum;
      sum.end += record.end, sum.waited += record.waited, sum.held += record.held;
      sum.redone += record.redone, sum.checkpointing += record.checkpointing, sum.restarting += record.restarting;
      sum.interruptions += record.interruptions;
    }
    return trials;
  }

  const JobsInput& input_;
  int trials_;
  std::map<Seconds, Trials> tried_;
};

void try_around(Study& study, Seconds centre, int steps, double factor, Seconds longest) {
  for (int step = -steps; step <= steps; ++step) study.at(min(centre * std::pow(factor, step), longest));
}

/// A job on whole nodes as a job on nodes of one GPU each, which fail as often as all that is in a node: the same, and
/// cheaper.
void whole_nodes(ClusterSpec& cluster, ClusterJob& job, FaultSpec& faults) {
  const int per_node = cluster.node.gpus;
  if (job.gpus % per_node != 0 || job.communication > 0) return;
  faults.node_mtbf = 1.0 / FailureProcess::rate(faults, per_node, 1, 0);
  faults.gpu_mtbf.reset();
  cluster.node.gpus = 1;
  job.gpus /= per_node;
}

void fill(CheckpointStudy& result, Study& study, Seconds chosen, int trials) {
  const JobRecord& sum = study.at(chosen).sum;
  result.chosen = study.point(chosen);
  result.trials = trials;
  result.interruptions = static_cast<double>(sum.interruptions) / trials;
  JobRecord& mean = result.mean;
  mean.end = sum.end / trials, mean.waited = sum.waited / trials, mean.held = sum.held / trials;
  mean.redone = sum.redone / trials, mean.checkpointing = sum.checkpointing / trials;
  mean.restarting = sum.restarting / trials;
  mean.interruptions = static_cast<int>(std::lround(result.interruptions));
}

}  // namespace

Seconds young_interval(Seconds cost, Seconds mtbf) {
  return Seconds(std::sqrt(2 * cost.value() * mtbf.value()));
}

Seconds daly_interval(Seconds cost, Seconds mtbf) {
  const double half = cost / (2 * mtbf);
  if (half >= 1) return mtbf;
  return young_interval(cost, mtbf) * (1 + std::sqrt(half) / 3 + half / 9) - cost;
}

Seconds expected_time(Seconds work, Seconds interval, Seconds cost, Seconds restart, Seconds mtbf) {
  const double whole = std::max(0.0, std::ceil(work / interval - 1e-9) - 1);
  const Seconds last = work - interval * whole;
  const double segments = whole * std::expm1((interval + cost) / mtbf) + std::expm1(last / mtbf);
  return mtbf * (std::exp(restart / mtbf) * segments);
}

CheckpointStudy study_checkpoints(const JobsInput& input, int trials) {
  TESSERA_ASSERT(input.jobs.size() == 1 && trials > 1, "one job, often");
  TESSERA_ASSERT(input.options.faults.checkpoint_cost > Seconds(), "of free checkpoints there is no best interval");
  CheckpointStudy result;
  const FaultSpec& faults = input.options.faults;
  result.mtbf = job_mtbf(input);
  if (!std::isfinite(result.mtbf.value())) throw RunError("nothing that the job runs on ever fails");
  result.young = young_interval(faults.checkpoint_cost, result.mtbf);
  result.daly = daly_interval(faults.checkpoint_cost, result.mtbf);
  ClusterSpec cluster = input.cluster;
  std::vector<ClusterJob> jobs(input.jobs.begin(), input.jobs.end());
  JobsInput simulated{cluster, input.topology, jobs, input.options, input.alone};
  if (!faults.link_mtbf && !input.alone) whole_nodes(cluster, jobs.front(), simulated.options.faults);
  Study study(simulated, trials);
  // Checkpoints that are rarer than failures are never best; those behind the end are not written.
  const Seconds longest = min(result.mtbf * 2, input.jobs.front().alone);
  try_around(study, result.young, kCoarse, 2, longest);
  try_around(study, study.best(), kFine, std::pow(2, 0.25), longest);
  const Seconds best = study.best();
  result.best = study.point(best);
  result.good_from = result.good_to = best;
  const std::vector<Seconds> tried = study.intervals();
  const auto at = std::ranges::find(tried, best);
  for (auto next = at; next != tried.begin() && study.as_good(*std::prev(next), best); --next)
    result.good_from = *std::prev(next);
  for (auto next = std::next(at); next != tried.end() && study.as_good(*next, best); ++next) result.good_to = *next;
  fill(result, study, faults.checkpoint_interval.value_or(best), trials);
  for (const Seconds interval : study.intervals()) result.points.push_back(study.point(interval));
  return result;
}

}  // namespace tessera
