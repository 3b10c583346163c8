// How far a job is, with its checkpoints: between two events everything follows from the date.
#pragma once

#include <optional>

#include "sim/base/units.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

/// A job computes for the interval, stands still while it writes a checkpoint, computes again; what it had done at the
/// beginning of the last checkpoint that is complete is safe.
class JobProgress {
 public:
  JobProgress() = default;
  JobProgress(Seconds alone, const FaultSpec& rules)
      : alone_(alone), interval_(rules.checkpoint_interval), cost_(rules.checkpoint_cost) {}

  /// Begins, or goes on from what is safe, after `restart`.
  void start(Seconds now, Seconds restart, double speed);
  /// Brings the state to `now`, at the speed so far.
  void advance(Seconds now, JobRecord& record);
  /// Progress per second of computing, 1 as alone; `advance` comes first.
  void set_speed(double speed) { speed_ = speed; }
  [[nodiscard]] Seconds end() const;
  /// Everything since the last complete checkpoint is lost.
  void interrupt(JobRecord& record);
  /// At its end: what it computed more than alone was slowness.
  void finish(JobRecord& record) const { record.slowed = computed_ - record.redone - alone_; }

 private:
  [[nodiscard]] Seconds cycle() const { return *interval_ + cost_; }
  [[nodiscard]] Seconds computing_until(Seconds into) const;

  Seconds alone_;
  std::optional<Seconds> interval_;
  Seconds cost_;
  Seconds at_, done_, safe_;           // done and safe: of `alone_`
  Seconds into_cycle_, restart_left_;  // since the last checkpoint ended; until it computes
  Seconds computed_, unsafe_;          // time spent computing: in all, since what is safe
  double speed_ = 1;
};

}  // namespace tessera
