// Processes without MPS take turns on the whole GPU; a policy may interrupt a stream's running blocks.
#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/dispatch/gpu_core.hpp"
#include "sim/dispatch/interference.hpp"

namespace tessera {

namespace {

/// From one process to the next: two equal tasks lost 9.4 % to sharing on a GV100 (XSched), with slices of 2 ms.
constexpr Seconds kSwitch(2e-3 * 0.094 / (1 - 0.094));

}  // namespace

/// A process in the gap between two of its kernels keeps its turn.
bool GpuCore::has_work(std::uint32_t process) const {
  return std::ranges::any_of(streams_, [&](const Stream& stream) {
    return stream.spec.process == process && !stream.empty() && due(stream.front().release, executor_->now());
  });
}

/// True if the active process may dispatch now.
bool GpuCore::take_turns() {
  if (processes_.size() <= 1) return true;
  const Seconds now = executor_->now();
  if (switching_) {
    if (!due(switched_, now)) return false;
    switch_to(active_);
  }
  const auto count = static_cast<std::uint32_t>(processes_.size());
  std::uint32_t other = active_;
  for (std::uint32_t i = 1; i < count && other == active_; ++i) {
    if (has_work((active_ + i) % count)) other = (active_ + i) % count;
  }
  if (other == active_) return true;
  if (slice_end_ < Seconds(0.0)) slice_end_ = now + options_.time_slice;  // the first
  if (has_work(active_) && !due(slice_end_, now)) {
    if (slice_armed_ != slice_end_) executor_->wake(slice_end_);
    slice_armed_ = slice_end_;
    return true;
  }
  for (std::uint32_t c = 0; c < cohorts_.size(); ++c) {
    if (cohorts_[c].state != Cohort::running) continue;
    executor_->suspend(c);
    ends_[c] = kNoEnd;
    count_and_set(cohorts_[c], -1, Cohort::suspended);
  }
  active_ = other;
  switching_ = true;
  switched_ = now + kSwitch;
  executor_->wake(switched_);
  return false;
}

/// Its turn begins: what it had on the SMs goes on.
void GpuCore::switch_to(std::uint32_t process) {
  switching_ = false;
  slice_end_ = executor_->now() + options_.time_slice;
  for (std::uint32_t c = 0; c < cohorts_.size(); ++c) {
    Cohort& cohort = cohorts_[c];
    if (cohort.state != Cohort::suspended || streams_[cohort.stream].spec.process != process) continue;
    count_and_set(cohort, 1, Cohort::running);
    executor_->resume(c);
  }
}

void GpuCore::count_and_set(Cohort& cohort, int sign, Cohort::State state) {
  count(cohort, sign);
  cohort.state = state;
}

void GpuCore::interrupt(std::uint32_t index, bool reset) {
  Stream& stream = streams_[index];
  if (stream.interrupting || stream.cohorts == 0) return;
  stream.interrupting = views_[index].leaving = true;
  stream.reset = reset;
  stream.freezes = executor_->now() + preemption_latency(Preemption::interrupt, stream.front().kernel->time());
  interrupted_.push_back(index);
  executor_->wake(stream.freezes);
}

/// Blocks whose interrupt takes effect now leave their SMs, and their kernel queues again.
void GpuCore::freeze_due() {
  std::erase_if(interrupted_, [this](std::uint32_t index) {
    Stream& stream = streams_[index];
    if (!stream.interrupting) return true;  // its kernel ended before
    if (!due(stream.freezes, executor_->now())) return false;
    for (std::uint32_t c = 0; c < cohorts_.size(); ++c) {
      Cohort& cohort = cohorts_[c];
      if (cohort.stream != index || cohort.state != Cohort::running) continue;
      executor_->suspend(c);
      ends_[c] = kNoEnd;
      if (stream.reset) cohort.redo = min(cohort.kernel->tile_latency, executor_->now() - cohort.started);
      leave_sms(cohort);
      cohort.state = Cohort::frozen;
    }
    auto& queue = processes_[stream.spec.process].queue;
    const auto entry = std::ranges::find(queue, index, &QueuedKernel::stream);
    if (entry == queue.end()) {
      processes_[stream.spec.process].join(
          {index, stream.spec.priority, stream.arrival, 0, false, true, stream.front().kernel});
    } else {
      entry->frozen = true;
    }
    return true;
  });
}

/// The frozen blocks of a queued kernel go on, on whatever SMs are free; false if there is no room for all.
bool GpuCore::thaw(std::uint32_t process, std::size_t index) {
  QueuedKernel& entry = processes_[process].queue[index];
  Stream& stream = streams_[entry.stream];
  SmPool& pool = processes_[process].pool;
  std::vector<std::uint32_t> frozen;
  std::int64_t blocks = 0;
  for (std::uint32_t c = 0; c < cohorts_.size(); ++c) {
    if (cohorts_[c].stream != entry.stream || cohorts_[c].state != Cohort::frozen) continue;
    frozen.push_back(c);
    blocks += cohorts_[c].blocks;
  }
  if (pool.room(entry.kernel->footprint, stream.spec.range) < blocks) return false;
  // In the order in which they were first sent: slots are reused in the order of ends, which may tie.
  std::ranges::sort(frozen, {}, [this](std::uint32_t c) { return cohorts_[c].serial; });
  for (const std::uint32_t c : frozen) {
    Cohort& cohort = cohorts_[c];
    const std::int64_t placed = pool.place(entry.kernel->footprint, cohort.blocks, stream.spec.range, cohort.on_sm);
    TESSERA_ASSERT(placed == cohort.blocks, "there was room for all");
    count_and_set(cohort, 1, Cohort::running);
    cohort.started = executor_->now();
    executor_->resume(c);
  }
  stream.interrupting = views_[entry.stream].leaving = false;
  entry.frozen = false;
  return true;
}

}  // namespace tessera
