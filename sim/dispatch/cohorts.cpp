// Cohorts: blocks that start together hold SMs and draw on HBM until both are through with them.
#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/dispatch/gpu_core.hpp"

namespace tessera {

namespace {

/// Where the SM pool is not shared a cohort takes so little of it that it never runs short.
constexpr double kUnshared = 0.1;  // SMs hold four times their slots at most, by four kinds of limit

}  // namespace

std::uint32_t GpuCore::fresh_cohort() {
  if (free_cohorts_.empty()) {
    free_cohorts_.push_back(static_cast<std::uint32_t>(cohorts_.size()));
    cohorts_.emplace_back();
  }
  const std::uint32_t cohort = free_cohorts_.back();
  free_cohorts_.pop_back();
  return cohort;
}

/// Up to `blocks` blocks of the stream's head take their SMs; a cohort of 0 blocks is none, and is free again.
std::uint32_t GpuCore::place(std::uint32_t stream, std::int64_t blocks) {
  const Stream& of = streams_[stream];
  const std::uint32_t index = fresh_cohort();
  Cohort& cohort = cohorts_[index];
  cohort.stream = stream;
  cohort.kernel = of.front().kernel;
  cohort.blocks = processes_[of.spec.process].pool.place(cohort.kernel->footprint, blocks, of.spec.range, cohort.on_sm);
  if (cohort.blocks == 0) free_cohorts_.push_back(index);
  return index;
}

/// Comes onto the SMs (sign 1) or leaves them (-1).
void GpuCore::count(const Cohort& cohort, int sign) {
  const DeviceKernel& kernel = *cohort.kernel;
  StreamView& view = views_[cohort.stream];
  resident_streams_ -= view.resident > 0 ? 1 : 0;
  view.resident += sign * cohort.blocks;
  resident_streams_ += view.resident > 0 ? 1 : 0;
  view.resident_of = &kernel;
  demand_ += sign * kernel.demand_of(cohort.blocks);
  power_ += sign * kernel.power_of(cohort.blocks);
  resident_sms_ += sign * kernel.sms_of(cohort.blocks);
  running_ += sign;
  if (running_ == 0) {  // no rounding stays
    demand_ = BytesPerSec(0.0);
    power_ = Watts(0.0);
    resident_sms_ = 0;
  }
  if (options_.record_usage) record_usage(executor_->now());
}

/// `duration` is the tile latency, or what is left of it.
void GpuCore::launch(std::uint32_t index, Seconds duration) {
  Cohort& cohort = cohorts_[index];
  const DeviceKernel& kernel = *cohort.kernel;
  const std::int64_t before = views_[cohort.stream].resident;
  const BytesPerSec others = max(BytesPerSec(0.0), demand_ - kernel.demand_of(before));
  count(cohort, 1);
  const double slower = interference_.factor(
      {others, kernel.power_of(before + cohort.blocks), power_, kernel.hbm_per_block > Bytes(0.0)});
  const double sms = kernel.sms_of(cohort.blocks);
  const BytesPerSec rate = kernel.demand_of(cohort.blocks);
  hbm_carried_ += rate * duration;
  sm_time_ += sms * duration;
  energy_ += kernel.power_of(cohort.blocks) * duration;
  const Seconds lasts = with_others(duration * slower);
  cohort.work = {options_.terms.issue ? sms : sms * kUnshared, lasts,
                 options_.terms.hbm ? rate * (duration / lasts) : BytesPerSec(0.0), sms};
  cohort.expected = executor_->now() + lasts;
  cohort.started = executor_->now() - (kernel.tile_latency - duration);
  cohort.redo = Seconds(0.0);
  cohort.serial = serials_++;
  cohort.state = Cohort::running;
  ++streams_[cohort.stream].cohorts;
  executor_->start(index, cohort.work);
}

/// The duration that ends together with blocks which would end at nearly the same time.
Seconds GpuCore::with_others(Seconds duration) const {
  if (options_.grain <= 0) return duration;
  const Seconds now = executor_->now(), end = now + duration;
  Seconds apart = options_.grain * duration, together = end;
  for (const Cohort& other : cohorts_) {
    const Seconds gap = other.expected < end ? end - other.expected : other.expected - end;
    if (other.state != Cohort::running || gap >= apart || other.expected <= now) continue;
    apart = gap;
    together = other.expected;
  }
  return together - now;
}

/// Its blocks give back their SMs: they ended or were frozen.
void GpuCore::leave_sms(Cohort& cohort) {
  Process& process = processes_[streams_[cohort.stream].spec.process];
  process.pool.release(cohort.kernel->footprint, cohort.blocks, cohort.on_sm);
  for (QueuedKernel& waiting : process.queue) waiting.blocked = false;
  count(cohort, -1);
}

void GpuCore::cohort_ended(std::uint32_t index) {
  Cohort& cohort = cohorts_[index];
  if (cohort.redo > Seconds(0.0)) {  // what a reset had thrown away
    cohort.work.duration = cohort.redo;
    cohort.redo = Seconds(0.0);
    executor_->start(index, cohort.work);
    return;
  }
  leave_sms(cohort);
  cohort.state = Cohort::free;
  const std::uint32_t at = cohort.stream;
  free_cohorts_.push_back(index);
  Stream& stream = streams_[at];
  if (--stream.cohorts > 0 || stream.undispatched > 0) return;
  stream.enlisted = false;
  stream.interrupting = views_[at].leaving = false;
  finish_head(at, stream.front().start, executor_->now());
}

void GpuCore::finish_head(std::uint32_t index, Seconds start, Seconds end) {
  Stream& stream = streams_[index];
  const std::uint32_t task = stream.front().task;
  stream.free_from = end;
  if (!due(executor_->now(), end)) {  // it was alone then
    stream.free_from += interference_.gap(1);
  } else {
    just_ended_.push_back(index);
  }
  stream.pop();
  if (stream.empty()) --busy_;
  listener_->kernel_ended(index, task, start, end);
}

void GpuCore::record_usage(Seconds at) {
  if (!usage_.empty() && usage_.back().at == at) usage_.pop_back();
  usage_.push_back({at, resident_sms_, demand_});
}

void GpuCore::report(Timeline& into) const {
  into.sm_time += sm_time_;
  into.hbm_carried += hbm_carried_;
  into.energy += energy_;
  into.usage.insert(into.usage.end(), usage_.begin(), usage_.end());
}

}  // namespace tessera
