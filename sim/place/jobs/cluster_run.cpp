// Runs jobs on a cluster from event to event: arrivals, ends, failures, repairs. A job's end follows from its speed,
// which changes only when the jobs on its links do; so a step of a job costs nothing, and years take seconds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/place/jobs/contention.hpp"
#include "sim/place/jobs/failures.hpp"
#include "sim/place/jobs/job.hpp"
#include "sim/place/jobs/progress.hpp"
#include "sim/place/jobs/scheduler.hpp"
#include "sim/place/jobs/traffic.hpp"

namespace tessera {

namespace {

constexpr Seconds kNever(std::numeric_limits<double>::infinity());
constexpr double kMostAttempts = 1e4;  // of one interval between checkpoints, on average
constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

using Dates = std::set<std::pair<Seconds, std::uint32_t>>;

class ClusterRun {
 public:
  explicit ClusterRun(const JobsInput& input)
      : in_(input),
        faults_(input.options.faults),
        pool_(input.cluster.nodes, input.cluster.node.gpus, faults_.spares),
        places_(find_gang_policy(input.options.placement).make(input.cluster, input.topology)),
        scheduler_(input.jobs, pool_, *places_, find_queue_rule(input.options.queue), Rng(input.options.seed, 1)),
        traffic_(input.cluster, input.topology),
        contention_(input.topology.links().size()),
        failures_(input.cluster, input.topology, faults_, Rng(input.options.seed, 2)),
        running_(input.jobs.size()),
        owner_(static_cast<std::size_t>(input.cluster.gpus()), kNobody) {
    out_.records.resize(in_.jobs.size());
  }

  JobsResult run() {
    while (ended_ < in_.jobs.size()) {
      const Seconds now = next_event();
      TESSERA_ASSERT(now < kNever, "a job waits for nothing");
      jobs_time_ += static_cast<double>(present_) * (now - now_);
      now_ = now;
      end_jobs();
      repair_nodes();
      if (failures_.next() <= now_) fail();
      admit();
      start_jobs();
      settle();
      note_usage();
    }
    out_.makespan = now_;
    std::ranges::stable_sort(out_.stays, {}, &JobStay::start);
    return std::move(out_);
  }

 private:
  struct Running {
    JobProgress progress;
    Seconds end, since, arrived_at_jobs_time, released;
    bool begun = false, used_links = false;
  };

  [[nodiscard]] Seconds next_event() const {
    Seconds next = failures_.next();
    if (arrived_ < in_.jobs.size()) next = min(next, in_.jobs[arrived_].arrival);
    if (!ends_.empty()) next = min(next, ends_.begin()->first);
    if (!repairs_.empty()) next = min(next, repairs_.begin()->first);
    return max(next, now_);
  }

  void end_jobs() {
    while (!ends_.empty() && ends_.begin()->first <= now_) {
      const std::uint32_t job = ends_.begin()->second;
      JobRecord& record = out_.records[job];
      leave(job);
      running_[job].progress.finish(record);
      record.end = now_;
      const Seconds stay = now_ - in_.jobs[job].arrival;
      record.jobs_beside = (jobs_time_ - running_[job].arrived_at_jobs_time) / stay;
      --present_;
      ++ended_;
      ++out_.events;
    }
  }

  /// Takes the job from its GPUs; its progress is up to date.
  void leave(std::uint32_t job) {
    Running& running = running_[job];
    ends_.erase({running.end, job});
    running.progress.advance(now_, out_.records[job]);
    running.released = now_;
    const std::vector<int>& gpus = scheduler_.gpus_of(job);
    if (in_.options.record_stays) out_.stays.push_back({job, running.since, now_, gpus});
    for (const int gpu : gpus) owner_[static_cast<std::size_t>(gpu)] = kNobody;
    if (running.used_links) contention_.remove(job);
    running.used_links = false;
    scheduler_.release(job);
  }

  void repair_nodes() {
    while (!repairs_.empty() && repairs_.begin()->first <= now_) {
      pool_.repair(static_cast<int>(repairs_.begin()->second));
      repairs_.erase(repairs_.begin());
      ++out_.events;
    }
  }

  void fail() {
    const Failure failure = failures_.take();
    ++out_.events;
    if (failure.kind == Failure::Kind::link) {
      ++out_.failures;
      const std::vector<std::uint32_t> hit = contention_.jobs_on(failure.component);
      for (const std::uint32_t job : hit) interrupt(job);
      return;
    }
    const int per_node = pool_.gpus_per_node();
    const int component = static_cast<int>(failure.component);
    const int node = failure.kind == Failure::Kind::gpu ? component / per_node : component;
    if (!pool_.in_service(node)) return;
    ++out_.failures;
    const int first = failure.kind == Failure::Kind::gpu ? component : node * per_node;
    const int last = failure.kind == Failure::Kind::gpu ? component : first + per_node - 1;
    for (int gpu = first; gpu <= last; ++gpu)
      if (const std::uint32_t job = owner_[static_cast<std::size_t>(gpu)]; job != kNobody) interrupt(job);
    if (faults_.repair == Seconds()) return;
    pool_.fail(node);
    repairs_.emplace(now_ + faults_.repair, static_cast<std::uint32_t>(node));
  }

  void interrupt(std::uint32_t job) {
    leave(job);
    running_[job].progress.interrupt(out_.records[job]);
    scheduler_.submit(job);
  }

  void admit() {
    for (; arrived_ < in_.jobs.size() && in_.jobs[arrived_].arrival <= now_; ++arrived_) {
      const auto job = static_cast<std::uint32_t>(arrived_);
      running_[job].progress = JobProgress(in_.jobs[job].alone, faults_);
      running_[job].released = in_.jobs[job].arrival;
      running_[job].arrived_at_jobs_time = jobs_time_;
      scheduler_.submit(job);
      ++present_;
      ++out_.events;
    }
  }

  void start_jobs() {
    for (const std::uint32_t job : scheduler_.start(now_)) {
      const std::vector<int>& gpus = scheduler_.gpus_of(job);
      for (const int gpu : gpus) owner_[static_cast<std::size_t>(gpu)] = job;
      JobRecord& record = out_.records[job];
      Running& running = running_[job];
      const int nodes = nodes_of(gpus, pool_.gpus_per_node());
      record.nodes = std::max(record.nodes, nodes);
      record.waited += now_ - running.released;
      if (!running.begun) record.start = now_;
      const AloneTimes alone = in_.alone ? in_.alone(in_.jobs[job], gpus) : traffic_.alone(in_.jobs[job], gpus);
      std::vector<LinkLoad> loads;
      if (nodes > 1 && (in_.options.contention || faults_.link_mtbf)) loads = traffic_.loads(gpus);
      check_attempts(job, nodes, loads);
      running.used_links = !loads.empty();
      if (running.used_links) contention_.add(job, alone, std::move(loads), in_.options.contention);
      const Seconds restart = running.begun ? faults_.restart : Seconds();
      running.since = now_;
      running.progress.start(now_, restart, in_.jobs[job].alone / (alone.compute + alone.communication));
      running.begun = true;
      expect(job);
    }
  }

  void expect(std::uint32_t job) {
    running_[job].end = max(now_, running_[job].progress.end());
    ends_.emplace(running_[job].end, job);
    scheduler_.expect_end(job, running_[job].end);
  }

  void settle() {
    for (const std::uint32_t job : contention_.settle()) {
      if (!running_[job].used_links) continue;
      ends_.erase({running_[job].end, job});
      running_[job].progress.advance(now_, out_.records[job]);
      running_[job].progress.set_speed(in_.jobs[job].alone / contention_.time_of(job));
      expect(job);
    }
  }

  /// Between two checkpoints nothing may fail; e^(rate x time) attempts are needed on average.
  void check_attempts(std::uint32_t job, int nodes, const std::vector<LinkLoad>& loads) const {
    if (!faults_.any()) return;
    const auto links = std::ranges::count_if(
        loads, [&](const LinkLoad& load) { return joins_nodes(in_.topology.links()[load.link]); });
    const Hertz rate = FailureProcess::rate(faults_, in_.jobs[job].gpus, nodes, static_cast<std::size_t>(links));
    const Seconds safe = faults_.checkpoint_interval
                             ? min(*faults_.checkpoint_interval + faults_.checkpoint_cost, in_.jobs[job].alone)
                             : in_.jobs[job].alone;
    if (rate * (safe + faults_.restart) < std::log(kMostAttempts)) return;
    throw RunError(fmt::format(
        "{} would never end: something of its {} GPUs fails every {} on average, and it computes {} before its work is "
        "safe; write checkpoints more often, or give a longer MTBF",
        in_.jobs[job].name, in_.jobs[job].gpus, format(1.0 / rate), format(safe)));
  }

  void note_usage() {
    const UsageChange now{
        now_, scheduler_.busy(), pool_.free(), pool_.whole_free(), pool_.out(), static_cast<int>(scheduler_.waiting())};
    if (!out_.usage.empty() && out_.usage.back().at == now_)
      out_.usage.back() = now;
    else
      out_.usage.push_back(now);
  }

  const JobsInput& in_;
  const FaultSpec& faults_;
  GpuPool pool_;
  std::unique_ptr<GangPolicy> places_;
  JobScheduler scheduler_;
  TrafficModel traffic_;
  LinkContention contention_;
  FailureProcess failures_;
  std::vector<Running> running_;
  std::vector<std::uint32_t> owner_;  // job of every GPU
  Dates ends_, repairs_;              // of jobs, of nodes
  Seconds now_, jobs_time_;           // the integral of the number of jobs present
  std::size_t arrived_ = 0, ended_ = 0, present_ = 0;
  JobsResult out_;
};

}  // namespace

JobsResult run_jobs(const JobsInput& input) {
  TESSERA_ASSERT(std::ranges::is_sorted(input.jobs, {}, &ClusterJob::arrival), "jobs come in the order of arrival");
  const int most = (input.cluster.nodes - input.options.faults.spares) * input.cluster.node.gpus;
  for (const ClusterJob& job : input.jobs)
    if (job.gpus > most)
      throw RunError(fmt::format("{} wants {} GPUs; {} has {}{}", job.name, job.gpus, input.cluster.name, most,
                                 input.options.faults.spares > 0 ? " without its spares" : ""));
  return ClusterRun(input).run();
}

}  // namespace tessera
