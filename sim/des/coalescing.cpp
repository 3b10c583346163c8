// While one stream has the GPU alone, its kernels need no blocks: their dates follow from their times. One timer
// covers everything up to the next kernel whose end somebody waits for. When company arrives, the wave that is under
// way becomes a cohort, so that the others see the GPU exactly as they would have wave by wave.
#include <algorithm>
#include <cmath>

#include "sim/des/device.hpp"

namespace tessera {

namespace {

/// Two dates nearer than this are one, as for SimGrid.
constexpr Seconds kSameInstant(1e-12);

}  // namespace

/// The only stream with anything to do, if the GPU is empty and waves may be merged; otherwise -1.
int GpuDevice::lone_stream() const {
  if (fidelity_ == Fidelity::wave || running_cohorts_ > 0 || !queue_.empty()) return -1;
  int lone = -1;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!released(streams_[i])) continue;
    if (lone >= 0) return -1;
    lone = static_cast<int>(i);
  }
  return lone;
}

void GpuDevice::begin_solo(std::uint32_t stream) {
  solo_ = static_cast<int>(stream);
  planned_ = 0;
}

/// Dates the kernels up to the first whose end somebody waits for, and sets the wake-up for the last dated one.
void GpuDevice::plan_solo() {
  std::deque<Queued>& queue = streams_[static_cast<std::size_t>(solo_)].queue;
  if (queue.empty()) {
    solo_ = -1;
    return;
  }
  if (planned_ == queue.size() || (planned_ > 0 && queue[planned_ - 1].on_done)) return;
  Seconds free = planned_ > 0 ? queue[planned_ - 1].end : free_since_;
  do {
    Queued& next = queue[planned_++];
    next.start = max(free, next.release);
    free = next.end = next.start + next.kernel->time();
    if (next.on_done) break;
  } while (planned_ < queue.size());
  engine_.at(free, [this, plan = ++solo_plan_] { wake_solo(plan); });
}

void GpuDevice::wake_solo(std::uint64_t plan) {
  if (solo_ < 0 || plan != solo_plan_) return;
  settling_ = true;  // the call-backs below may submit; this very call settles it
  const auto stream = static_cast<std::uint32_t>(solo_);
  for (; planned_ > 0; --planned_) {
    const Queued& head = streams_[stream].queue.front();
    hbm_carried_ += head.kernel->hbm_per_block * static_cast<double>(head.kernel->blocks);
    finish_head(stream, head.start, head.end);
  }
  settle();
}

void GpuDevice::split_solo() {
  const auto index = static_cast<std::uint32_t>(solo_);
  Stream& stream = streams_[index];
  const Seconds now = engine_.now();
  solo_ = -1;
  ++solo_plan_;
  while (planned_ > 0 && stream.queue.front().end <= now + kSameInstant) {
    --planned_;
    const Queued& head = stream.queue.front();
    hbm_carried_ += head.kernel->hbm_per_block * static_cast<double>(head.kernel->blocks);
    finish_head(index, head.start, head.end);
  }
  if (planned_ == 0 || stream.queue.front().start >= now) return;

  const Queued& head = stream.queue.front();
  const DeviceKernel& kernel = *head.kernel;
  const Seconds start = head.start;
  const double waves = (now - start) / kernel.tile_latency;
  const double boundary = std::round(waves);
  const bool between = std::abs(waves - boundary) * kernel.tile_latency <= kSameInstant;
  const auto whole = static_cast<std::int64_t>(between ? boundary : std::floor(waves));
  const std::int64_t ended = std::min(kernel.blocks, whole * kernel.full_wave);
  hbm_carried_ += static_cast<double>(ended) * kernel.hbm_per_block;
  enlist(index);
  stream.queue.front().start = start;
  std::int64_t left = kernel.blocks - ended;
  if (!between) {
    SmPool::Placed placed = pool_.place(kernel.footprint, left);
    left -= placed.blocks;
    start_cohort(index, std::move(placed), start + kernel.tile_latency * static_cast<double>(whole + 1) - now);
  }
  stream.undispatched = queue_.back().blocks_left = left;
  queue_.back().blocked = !between;
  if (left == 0) queue_.pop_back();
}

}  // namespace tessera
