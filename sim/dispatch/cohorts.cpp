// Cohorts: blocks that start together hold SMs and draw on HBM until both are through with them.
#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/dispatch/gpu_core.hpp"

namespace tessera {

namespace {

/// Where the SM pool is not shared a cohort takes so little of it that it never runs short.
constexpr double kUnshared = 0.1;  // SMs hold four times their slots at most, by four kinds of limit
/// The grain of the smallest parts of a wave.
constexpr double kCoarsest = 0.2;
/// Of the window: distances that differ by less are one for every clock, and the earlier date wins.
constexpr double kSameDistance = 1e-4;

}  // namespace

std::uint32_t GpuCore::fresh_cohort() {
  if (free_cohorts_.empty()) {
    free_cohorts_.push_back(static_cast<std::uint32_t>(cohorts_.size()));
    cohorts_.emplace_back();
    ends_.push_back(kNoEnd);
  }
  const std::uint32_t cohort = free_cohorts_.back();
  free_cohorts_.pop_back();
  return cohort;
}

/// Up to `blocks` blocks of the stream's head get their SMs; a cohort of 0 blocks is none, and is free again.
std::uint32_t GpuCore::place(std::uint32_t stream, std::int64_t blocks) {
  const Stream& of = streams_[stream];
  const std::uint32_t index = fresh_cohort();
  Cohort& cohort = cohorts_[index];
  cohort.stream = stream;
  cohort.kernel = of.front().kernel;
  cohort.blocks = processes_[of.spec.process].pool.place(cohort.kernel->footprint, blocks, of.spec.range, cohort.on_sm);
  if (cohort.blocks == 0) {
    free_cohorts_.push_back(index);
    return index;
  }
  count(cohort, 1);
  ++streams_[stream].cohorts;
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

/// When all who start at this instant have their SMs: each of them slows the others.
void GpuCore::launch_placed() {
  for (const std::uint32_t cohort : placed_) launch(cohort, cohorts_[cohort].kernel->tile_latency);
  placed_.clear();
}

/// `duration` is the tile latency, or what is left of it.
void GpuCore::launch(std::uint32_t index, Seconds duration) {
  Cohort& cohort = cohorts_[index];
  const DeviceKernel& kernel = *cohort.kernel;
  const std::int64_t own = views_[cohort.stream].resident;
  const BytesPerSec others = max(BytesPerSec(0.0), demand_ - kernel.demand_of(own));
  const double slower = interference_.factor({others, kernel.power_of(own), power_, kernel.hbm_per_block > Bytes(0.0)});
  const double sms = kernel.sms_of(cohort.blocks);
  const BytesPerSec rate = kernel.demand_of(cohort.blocks);
  hbm_carried_ += rate * duration;
  sm_time_ += sms * duration;
  energy_ += kernel.power_of(cohort.blocks) * duration;
  const Seconds lasts = with_others(cohort, duration * slower * stretch(kernel, taken_));
  cohort.work = {options_.terms.issue ? sms : sms * kUnshared, lasts,
                 options_.terms.hbm ? rate * (duration / lasts) : BytesPerSec(0.0), sms};
  ends_[index] = executor_->now() + lasts;
  cohort.started = executor_->now() - (kernel.tile_latency - duration);
  cohort.redo = Seconds(0.0);
  cohort.serial = serials_++;
  cohort.state = Cohort::running;
  executor_->start(index, cohort.work);
}

/// How far an end may move, as a part of the duration. A small part of a wave matters little, but for the kernel's
/// last.
double GpuCore::coarseness(const Cohort& cohort, double part) const {
  if (streams_[cohort.stream].undispatched == 0) return options_.grain;
  return std::max(options_.grain, std::min(kCoarsest, options_.grain / part));
}

/// The duration that ends together with blocks which would end at nearly the same time. What waves were lengthened by
/// is owed: the next ones are shortened by it, so that a stream's sum is right.
Seconds GpuCore::with_others(const Cohort& cohort, Seconds duration) {
  if (options_.grain <= 0) return duration;
  const DeviceKernel& kernel = *cohort.kernel;
  const double part =
      static_cast<double>(cohort.blocks) / static_cast<double>(std::min(kernel.blocks, kernel.full_wave));
  Seconds& owed = streams_[cohort.stream].owed;
  const Seconds now = executor_->now(), window = coarseness(cohort, part) * duration;
  const Seconds end = now + duration, wanted = end - max(-1.0 * window, min(window, owed / part));
  const double same = kSameDistance * window.value();
  double apart = window.value() - same;
  Seconds together = wanted;
  for (const Seconds other : ends_) {
    const double gap = std::abs((other - wanted).value());
    if (gap > apart + same || other <= now || (gap > apart - same && other >= together)) continue;
    apart = gap;
    together = other;
  }
  owed += (together - end) * part;
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
  ends_[index] = kNoEnd;
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
  if (stream.empty() && --busy_ == 0) {  // what follows does not depend on what was
    for (Stream& each : streams_) each.owed = Seconds(0.0);
  }
  await_head(index);
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
