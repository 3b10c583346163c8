// Measures of jobs that share a cluster.
#include "sim/report/jobs.hpp"

#include <algorithm>

#include "sim/report/tenants.hpp"

namespace tessera {

namespace {

constexpr std::size_t kBins = 120;
constexpr double kRounding = 1e-9;

TimeSpread spread_of(const std::vector<Seconds>& times) {
  Seconds sum;
  for (const Seconds time : times) sum += time;
  return {sum / static_cast<double>(times.size()), quantile(times, 0.5), quantile(times, 0.99)};
}

/// Integrals of what changes at dates.
class Usage {
 public:
  Usage(const ClusterSpec& cluster, const JobsResult& result)
      : gpus_(cluster.gpus()), length_(result.makespan / static_cast<double>(kBins)), bins_(kBins), free_(kBins) {
    for (std::size_t i = 0; i < result.usage.size(); ++i) {
      const Seconds end = i + 1 < result.usage.size() ? result.usage[i + 1].at : result.makespan;
      add(result.usage[i], end);
    }
  }

  void fill(JobsMeasures& m) {
    Seconds free, fragmented;
    for (std::size_t i = 0; i < kBins; ++i) {
      ClusterBin& bin = bins_[i];
      free += free_[i];
      fragmented += Seconds(bin.fragmented_ratio);
      bin.at = length_ * static_cast<double>(i);
      const double all = gpus_ * length_.value();
      bin.busy_ratio /= all, bin.out_ratio /= all, bin.waiting /= length_.value();
      bin.fragmented_ratio = free_[i] > Seconds() ? Seconds(bin.fragmented_ratio) / free_[i] : 0;
    }
    m.fragmented_ratio = free > Seconds() ? fragmented / free : 0;
    m.over_time = std::move(bins_);
  }

 private:
  void add(const UsageChange& usage, Seconds end) {
    if (!(length_ > Seconds())) return;
    Seconds at = usage.at;
    for (auto i = std::min(static_cast<std::size_t>(at / length_), kBins - 1); at < end && i < kBins; ++i) {
      const Seconds until = i + 1 == kBins ? end : min(end, length_ * static_cast<double>(i + 1));
      const double time = std::max(0.0, (until - at).value());
      bins_[i].busy_ratio += usage.busy * time;
      bins_[i].out_ratio += usage.out * time;
      bins_[i].fragmented_ratio += (usage.free - usage.whole_free) * time;
      bins_[i].waiting += usage.waiting * time;
      free_[i] += Seconds(usage.free * time);
      at = max(at, until);
    }
  }

  double gpus_;
  Seconds length_;
  std::vector<ClusterBin> bins_;
  std::vector<Seconds> free_;  // GPU-seconds
};

/// Completion over what a job would take on its share of the cluster, 1 / (jobs in the system) of it (finish-time
/// fairness of Themis, Mahajan et al., NSDI 2020).
double finish_fairness(const ClusterJob& job, const JobRecord& record, int gpus) {
  const double fewer = std::max(1.0, job.gpus * record.jobs_beside / gpus);
  return (record.end - job.arrival) / (job.alone * fewer);
}

void add_work(JobsMeasures& m, const ClusterJob& job, const JobRecord& record) {
  m.useful += job.alone * job.gpus;
  m.slowed += record.slowed * job.gpus;
  m.redone += record.redone * job.gpus;
  m.checkpointing += record.checkpointing * job.gpus;
  m.restarting += record.restarting * job.gpus;
  m.interruptions += record.interruptions;
}

}  // namespace

JobsMeasures measure_jobs(const ClusterSpec& cluster, std::span<const ClusterJob> jobs, const JobsResult& result) {
  JobsMeasures m;
  m.makespan = result.makespan;
  const auto count = static_cast<double>(jobs.size());
  std::vector<Seconds> completion, waiting;
  double speeds = 0, squares = 0;
  Seconds held;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobRecord& record = result.records[i];
    completion.push_back(record.end - jobs[i].arrival);
    waiting.push_back(record.waited);
    const double speed = jobs[i].alone / completion.back();
    speeds += speed, squares += speed * speed;
    m.slowdown += 1 / speed / count;
    const double fairness = finish_fairness(jobs[i], record, cluster.gpus());
    m.finish_fairness += fairness / count;
    if (fairness > 1 + kRounding) m.finish_unfair_ratio += 1 / count;
    const int fewest = (jobs[i].gpus + cluster.node.gpus - 1) / cluster.node.gpus;
    if (record.nodes > fewest) m.scattered_ratio += 1 / count;
    held += record.held * jobs[i].gpus;
    add_work(m, jobs[i], record);
  }
  m.completion = spread_of(completion), m.waiting = spread_of(waiting);
  m.jain = speeds * speeds / (count * squares);
  m.goodput_ratio = m.useful / held;
  m.busy_ratio = held / (m.makespan * cluster.gpus());
  Usage(cluster, result).fill(m);
  return m;
}

}  // namespace tessera
