#include "sim/place/jobs/progress.hpp"

#include <cmath>

namespace tessera {

namespace {

constexpr double kRounding = 1e-9;  // of an interval: a job that ends with one writes no checkpoint

}  // namespace

void JobProgress::start(Seconds now, Seconds restart, double speed) {
  at_ = now;
  restart_left_ = restart;
  into_cycle_ = Seconds();
  speed_ = speed;
}

/// Of the time since the last checkpoint ended, without writing checkpoints.
Seconds JobProgress::computing_until(Seconds into) const {
  const double whole = std::floor(into / cycle());
  return *interval_ * whole + min(into - cycle() * whole, *interval_);
}

void JobProgress::advance(Seconds now, JobRecord& record) {
  Seconds left = now - at_;
  at_ = now;
  record.held += left;
  const Seconds restarting = min(left, restart_left_);
  restart_left_ -= restarting;
  record.restarting += restarting;
  left -= restarting;
  if (!interval_) {
    computed_ += left, unsafe_ += left;
    done_ += left * speed_;
    return;
  }
  const Seconds into = into_cycle_ + left;
  const Seconds computing = computing_until(into) - computing_until(into_cycle_);
  computed_ += computing, unsafe_ += computing;
  done_ += computing * speed_;
  record.checkpointing += left - computing;
  const double checkpoints = std::floor(into / cycle());
  into_cycle_ = into - cycle() * checkpoints;
  if (checkpoints < 1) return;
  unsafe_ = min(into_cycle_, *interval_);
  safe_ = done_ - unsafe_ * speed_;
}

Seconds JobProgress::end() const {
  Seconds computing = (alone_ - done_) / speed_;
  const Seconds begin = at_ + restart_left_;
  if (!interval_) return begin + computing;
  const Seconds to_checkpoint = *interval_ - into_cycle_;
  if (to_checkpoint < Seconds()) {  // writing
    const double more = std::ceil(computing / *interval_ - kRounding) - 1;
    return begin + (cycle() - into_cycle_) + computing + cost_ * std::max(0.0, more);
  }
  if (computing <= to_checkpoint * (1 + kRounding)) return begin + computing;
  const double checkpoints = std::ceil((computing - to_checkpoint) / *interval_ - kRounding);
  return begin + computing + cost_ * checkpoints;
}

void JobProgress::interrupt(JobRecord& record) {
  record.redone += unsafe_;
  ++record.interruptions;
  unsafe_ = Seconds();
  done_ = safe_;
}

}  // namespace tessera
