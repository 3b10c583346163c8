// While one stream has the GPU alone, its kernels need no blocks: their dates follow from their times. One wake-up
// covers everything up to the next kernel whose end somebody waits for. When company arrives, the wave that is under
// way becomes a cohort, so that the others see the GPU exactly as they would have wave by wave.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/dispatch/gpu_core.hpp"

namespace tessera {

/// The only stream with anything to do, if the GPU is empty and waves may be merged; otherwise -1.
int GpuCore::lone_stream() const {
  if (!options_.coalesce || running_ > 0 || busy_ == 0 || !policy_->lone_stream_is_free()) return -1;
  if (static_cast<int>(pending_.size()) < busy_) return -1;  // somebody's last blocks wait
  const auto ready = [this](auto stream) { return released(streams_[stream]) && at_head_of_hardware_queue(stream); };
  const auto lone = std::ranges::find_if(pending_, ready);
  if (lone == pending_.end()) return -1;
  return has_company(*lone) || streams_[*lone].spec.process != active_ ? -1 : static_cast<int>(*lone);
}

/// Dates the kernels up to the first whose end somebody waits for, and asks to be woken for the last dated one.
void GpuCore::plan_solo() {
  Stream& stream = streams_[static_cast<std::size_t>(solo_)];
  const std::size_t last = stream.head + planned_;
  if (last == stream.queue.size() || (planned_ > 0 && stream.queue[last - 1].observed)) return;
  const Seconds gap = interference_.gap(1);
  Seconds free = planned_ > 0 ? stream.queue[last - 1].end + gap : stream.free_from;
  for (std::size_t i = last; i < stream.queue.size(); ++i) {
    Queued& next = stream.queue[i];
    next.start = max(free, next.release);
    next.end = next.start + next.kernel->time() * stretch(*next.kernel, taken_);
    free = next.end + gap;
    ++planned_;
    if (next.observed) break;
  }
  executor_->wake(stream.queue[stream.head + planned_ - 1].end);
}

/// By how much a kernel lasts longer: its SMs over those that are left, or both demands over the bandwidth.
double GpuCore::stretch(const DeviceKernel& kernel, const Occupation& taken) const {
  if (taken.sms <= 0) return 1;
  const std::int64_t resident = std::min(kernel.blocks, kernel.full_wave);
  const double left = std::max(1.0, sms_ - taken.sms);
  return std::max({1.0, kernel.sms_of(resident) / left, (kernel.demand_of(resident) + taken.hbm) / bandwidth_});
}

void GpuCore::occupy(const Occupation& taken) {
  to_take_ = taken;
}

/// The kernel under way goes on at its new pace; those after it get other dates.
void GpuCore::plan_again() {
  const Occupation before = std::exchange(taken_, to_take_);
  if (solo_ < 0 || (before.sms == taken_.sms && before.hbm == taken_.hbm)) return;
  Stream& stream = streams_[static_cast<std::size_t>(solo_)];
  const Seconds now = executor_->now();
  std::size_t keep = 0;
  while (keep < planned_ && !due(now, stream.queue[stream.head + keep].start)) {
    Queued& kernel = stream.queue[stream.head + keep++];
    if (due(kernel.end, now)) continue;
    kernel.end = now + (kernel.end - now) * (stretch(*kernel.kernel, taken_) / stretch(*kernel.kernel, before));
  }
  planned_ = keep;
  if (planned_ > 0) executor_->wake(stream.queue[stream.head + planned_ - 1].end);
}

/// The planned kernels that have ended by `until`; those before the last one are told with it.
void GpuCore::finish_planned(std::uint32_t index, Seconds until) {
  Stream& stream = streams_[index];
  if (planned_ == 0 || !due(stream.queue[stream.head + planned_ - 1].end, until)) return;
  for (; planned_ > 0; --planned_) count_alone(index);
}

/// The head ran alone and whole.
void GpuCore::count_alone(std::uint32_t index) {
  const Queued head = streams_[index].front();
  const DeviceKernel& kernel = *head.kernel;
  account(kernel, kernel.blocks);
  if (options_.record_usage) {
    const auto resident = std::min(kernel.blocks, kernel.full_wave);
    usage_.push_back({head.start, kernel.sms_of(resident), kernel.demand_of(resident)});
    usage_.push_back({head.end, 0, BytesPerSec(0.0)});
  }
  leave_hardware_queue(index);
  finish_head(index, head.start, head.end);
}

/// Blocks that ran while nobody else did.
void GpuCore::account(const DeviceKernel& kernel, std::int64_t blocks) {
  const auto count = static_cast<double>(blocks);
  hbm_carried_ += count * kernel.hbm_per_block;
  energy_ += count * kernel.energy_per_block;
  sm_time_ += kernel.sms_of(blocks) * kernel.tile_latency;
}

void GpuCore::split_solo() {
  const auto index = static_cast<std::uint32_t>(solo_);
  Stream& stream = streams_[index];
  const Seconds now = executor_->now();
  solo_ = -1;
  while (planned_ > 0 && due(stream.front().end, now)) {
    --planned_;
    count_alone(index);
  }
  const bool started = planned_ > 0 && !due(now, stream.front().start);
  planned_ = 0;
  if (!started) return;

  const DeviceKernel& kernel = *stream.front().kernel;
  const Seconds start = stream.front().start;
  const double pace = stretch(kernel, taken_);
  const double waves = static_cast<double>(kernel.waves) - (stream.front().end - now) / (kernel.tile_latency * pace);
  const double boundary = std::round(waves);
  const bool between = std::abs(waves - boundary) * kernel.tile_latency <= kSameInstant;
  const auto whole = static_cast<std::int64_t>(between ? boundary : std::floor(waves));
  const std::int64_t ended = std::min(kernel.blocks, whole * kernel.full_wave);
  account(kernel, ended);
  enlist(index);
  await_head(index);
  stream.front().start = start;
  std::int64_t left = kernel.blocks - ended;
  auto& queue = processes_[stream.spec.process].queue;
  if (!between) {
    const std::uint32_t cohort = place(index, left);
    left -= cohorts_[cohort].blocks;
    launch(cohort, kernel.tile_latency * (static_cast<double>(whole + 1) - waves));
  }
  QueuedKernel& entry = queue.front();  // nobody else is there
  stream.undispatched = entry.blocks_left = left;
  entry.blocked = !between;
  if (left == 0) queue.clear();
}

}  // namespace tessera
