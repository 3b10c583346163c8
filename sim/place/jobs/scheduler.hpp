// Who waits, who starts, and on which GPUs; knows dates only as far as it is told.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/place/jobs/gang.hpp"
#include "sim/place/jobs/gpu_pool.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

struct QueueRule {
  std::string_view name, what;
  Seconds (*key)(const ClusterJob& job);  // the smallest goes first; ties by the order of arrival
  bool backfills = false;                 // jobs behind the first may start where they do not delay it
};
std::span<const QueueRule> queue_rules();  // alphabetical; `fifo` is the default
/// InputError with the nearest name.
const QueueRule& find_queue_rule(std::string_view name);

class JobScheduler {
 public:
  JobScheduler(std::span<const ClusterJob> jobs, GpuPool& pool, const GangPolicy& places, const QueueRule& rule,
               Rng rng);

  void submit(std::uint32_t job);
  /// Takes the GPUs from a job that ended or was interrupted.
  void release(std::uint32_t job);
  /// When a running job is going to end, as far as known; only backfilling looks at it.
  void expect_end(std::uint32_t job, Seconds end);
  /// Starts what can start, and returns it in order; they are expected to take as long as alone.
  std::vector<std::uint32_t> start(Seconds now);

  [[nodiscard]] const std::vector<int>& gpus_of(std::uint32_t job) const { return gpus_[job]; }
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
  [[nodiscard]] int busy() const { return busy_; }

 private:
  using Queue = std::set<std::pair<Seconds, std::uint32_t>>;
  void place(std::uint32_t job, Seconds now);
  void backfill(Seconds now, std::vector<std::uint32_t>& started);

  std::span<const ClusterJob> jobs_;
  GpuPool& pool_;
  const GangPolicy& places_;
  const QueueRule& rule_;
  Rng rng_;
  Queue queue_;
  Queue ends_;  // of running jobs, where the rule backfills
  std::vector<std::vector<int>> gpus_;
  std::vector<Seconds> end_of_;
  int busy_ = 0;
};

}  // namespace tessera
