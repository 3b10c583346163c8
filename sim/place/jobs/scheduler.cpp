#include "sim/place/jobs/scheduler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <string>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace {

// Of jobs behind the first, in order: what a schedule costs does not grow with the queue (Slurm's bf_max_job_test).
constexpr int kBackfillDepth = 100;

Seconds by_arrival(const ClusterJob& job) {
  return job.arrival;
}
Seconds by_length(const ClusterJob& job) {
  return job.alone;
}

}  // namespace

std::span<const QueueRule> queue_rules() {
  static constexpr std::array<QueueRule, 3> kRules{{
      {"backfill", "fifo; later jobs start where they do not delay the first one (EASY)", by_arrival, true},
      {"fifo", "in the order of arrival; who does not fit holds up the others", by_arrival},
      {"sjf", "the shortest job first, and who does not fit holds up the others", by_length},
  }};
  return kRules;
}

const QueueRule& find_queue_rule(std::string_view name) {
  std::vector<std::string> names;
  for (const QueueRule& rule : queue_rules()) {
    if (rule.name == name) return rule;
    names.emplace_back(rule.name);
  }
  throw InputError(Diagnostic{
      "", 0, 0,
      fmt::format("unknown queue '{}'{}; there are: {}", name, did_you_mean(name, names), fmt::join(names, ", "))});
}

JobScheduler::JobScheduler(std::span<const ClusterJob> jobs, GpuPool& pool, const GangPolicy& places,
                           const QueueRule& rule, Rng rng)
    : jobs_(jobs), pool_(pool), places_(places), rule_(rule), rng_(rng), gpus_(jobs.size()), end_of_(jobs.size()) {}

void JobScheduler::submit(std::uint32_t job) {
  queue_.emplace(rule_.key(jobs_[job]), job);
}

void JobScheduler::release(std::uint32_t job) {
  pool_.give_back(gpus_[job]);
  busy_ -= static_cast<int>(gpus_[job].size());
  gpus_[job].clear();
  if (rule_.backfills) ends_.erase({end_of_[job], job});
}

void JobScheduler::expect_end(std::uint32_t job, Seconds end) {
  if (!rule_.backfills) return;
  ends_.erase({end_of_[job], job});
  end_of_[job] = end;
  ends_.emplace(end, job);
}

void JobScheduler::place(std::uint32_t job, Seconds now) {
  gpus_[job] = places_.choose(pool_, jobs_[job].gpus, rng_);
  pool_.take(gpus_[job]);
  busy_ += jobs_[job].gpus;
  expect_end(job, now + jobs_[job].alone);
}

std::vector<std::uint32_t> JobScheduler::start(Seconds now) {
  std::vector<std::uint32_t> started;
  while (!queue_.empty()) {
    const std::uint32_t job = queue_.begin()->second;
    if (jobs_[job].gpus > pool_.free()) break;
    queue_.erase(queue_.begin());
    place(job, now);
    started.push_back(job);
  }
  if (rule_.backfills && queue_.size() > 1 && pool_.free() > 0) backfill(now, started);
  return started;
}

/// EASY (Lifka 1995): the first job is promised the date at which enough running jobs have ended; others may take GPUs
/// that are given back before, or that the first one leaves over.
void JobScheduler::backfill(Seconds now, std::vector<std::uint32_t>& started) {
  const int first = jobs_[queue_.begin()->second].gpus;
  int then = pool_.free();
  Seconds promised(std::numeric_limits<double>::infinity());
  for (const auto& [end, job] : ends_) {
    then += jobs_[job].gpus;
    if (then < first) continue;
    promised = end;
    break;
  }
  int extra = then - first;  // negative where nodes are out of service: then nothing is promised
  int looked_at = 0;
  for (auto next = std::next(queue_.begin()); next != queue_.end() && looked_at < kBackfillDepth; ++looked_at) {
    const std::uint32_t job = next->second;
    const int gpus = jobs_[job].gpus;
    const bool in_time = now + jobs_[job].alone <= promised;
    if (gpus > pool_.free() || (!in_time && gpus > extra)) {
      ++next;
      continue;
    }
    if (!in_time) extra -= gpus;
    next = queue_.erase(next);
    place(job, now);
    started.push_back(job);
  }
}

}  // namespace tessera
