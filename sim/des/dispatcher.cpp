// Which stream's kernel sends blocks now. All that happens at one instant is settled once, so that ties are ours.
#include <algorithm>
#include <memory>

#include "sim/des/device.hpp"

namespace tessera {

void GpuDevice::request_settle() {
  if (settling_) return;
  settling_ = true;
  engine_.after_this_instant([this] { settle(); });
}

void GpuDevice::settle() {
  settling_ = true;
  if (solo_ >= 0) {
    const bool company = std::ranges::any_of(
        streams_, [this](const Stream& s) { return &s != &streams_[static_cast<std::size_t>(solo_)] && released(s); });
    if (company) split_solo();
  }
  if (solo_ < 0) {
    if (const int alone = lone_stream(); alone >= 0) {
      begin_solo(static_cast<std::uint32_t>(alone));
    } else {
      enlist_released();
      dispatch();
    }
  }
  if (solo_ >= 0) plan_solo();
  arm_releases();
  settling_ = false;
}

bool GpuDevice::released(const Stream& stream) const {
  return !stream.queue.empty() && stream.queue.front().release <= engine_.now();
}

void GpuDevice::enlist(std::uint32_t index) {
  Stream& stream = streams_[index];
  stream.enlisted = true;
  stream.undispatched = stream.queue.front().kernel->blocks;
  stream.queue.front().start = engine_.now();
  queue_.push_back(
      {index, stream.priority, arrivals_++, stream.undispatched, false, false, stream.queue.front().kernel});
}

void GpuDevice::enlist_released() {
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    if (!streams_[i].enlisted && released(streams_[i])) enlist(i);
  }
}

void GpuDevice::dispatch() {
  for (;;) {
    const int chosen = policy_.next({engine_.now(), sms_, bandwidth_, queue_, {}}).kernel;
    if (chosen < 0) return;
    QueuedKernel& entry = queue_[static_cast<std::size_t>(chosen)];
    Stream& stream = streams_[entry.stream];
    Queued& head = stream.queue.front();
    SmPool::Placed placed = pool_.place(head.kernel->footprint, entry.blocks_left);
    const std::int64_t blocks = placed.blocks;
    if (blocks > 0) {
      if (stream.undispatched == head.kernel->blocks) head.start = engine_.now();
      start_cohort(entry.stream, std::move(placed), head.kernel->tile_latency);
    }
    stream.undispatched = entry.blocks_left -= blocks;
    entry.blocked = true;  // it placed all that fit
    if (entry.blocks_left == 0) queue_.erase(queue_.begin() + chosen);
  }
}

/// A call for every head that is still to be released; the one that has the GPU alone knows its own dates.
void GpuDevice::arm_releases() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    if (stream.queue.empty() || static_cast<int>(i) == solo_) continue;
    const Seconds release = stream.queue.front().release;
    if (release <= engine_.now() || release == stream.armed) continue;
    stream.armed = release;
    engine_.at(release, [this] { request_settle(); });
  }
}

}  // namespace tessera
