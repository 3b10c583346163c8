// Cohorts: blocks that start together hold SMs and draw on HBM until both are through with them.
#include <algorithm>

#include "sim/des/device.hpp"

namespace tessera {

GpuDevice::GpuDevice(Engine& engine, std::size_t gpu, const GpuSpec& spec, DispatchPolicy& policy, Fidelity fidelity,
                     Observer observer)
    : engine_(engine),
      gpu_(gpu),
      sms_(spec.sms),
      bandwidth_(spec.memory_bandwidth),
      policy_(policy),
      fidelity_(fidelity),
      observer_(std::move(observer)),
      pool_(spec.sms, sm_limits(spec)) {}

std::uint32_t GpuDevice::add_stream(int priority) {
  streams_.push_back({.priority = priority});
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

void GpuDevice::submit(std::uint32_t stream, const DeviceKernel& kernel, Seconds release, std::uint32_t task,
                       std::function<void()> on_done) {
  streams_[stream].queue.push_back(
      {&kernel, max(release, engine_.now()), task, std::move(on_done), Seconds(0.0), Seconds(0.0)});
  request_settle();
}

bool GpuDevice::idle() const {
  return std::ranges::all_of(streams_, [](const Stream& stream) { return stream.queue.empty(); });
}

/// `duration` is the tile latency, or what is left of it.
void GpuDevice::start_cohort(std::uint32_t stream, SmPool::Placed placed, Seconds duration) {
  const DeviceKernel& kernel = *streams_[stream].queue.front().kernel;
  if (free_cohorts_.empty()) {
    cohorts_.push_back(std::make_unique<Cohort>());
    free_cohorts_.push_back(cohorts_.back().get());
  }
  Cohort& cohort = *free_cohorts_.back();
  free_cohorts_.pop_back();
  cohort.stream = stream;
  cohort.footprint = kernel.footprint;
  cohort.placed = std::move(placed);
  const auto blocks = static_cast<double>(cohort.placed.blocks);
  ++streams_[stream].cohorts;
  ++running_cohorts_;

  const double share = blocks / kernel.blocks_per_sm;
  const BytesPerSec rate = blocks * kernel.hbm_per_block / kernel.tile_latency;
  const Bytes traffic = rate * duration;
  cohort.open = traffic > Bytes(0.0) ? 2 : 1;
  const auto ended = [this, &cohort] { end_part(cohort); };
  engine_.compute(gpu_, share, duration, ended);
  if (traffic > Bytes(0.0)) engine_.memory(gpu_, share, traffic, rate, ended);
  hbm_carried_ += traffic;
}

void GpuDevice::end_part(Cohort& cohort) {
  if (--cohort.open > 0) return;
  pool_.release(cohort.footprint, cohort.placed);
  for (QueuedKernel& waiting : queue_) waiting.blocked = false;
  --running_cohorts_;
  Stream& stream = streams_[cohort.stream];
  const std::uint32_t index = cohort.stream;
  free_cohorts_.push_back(&cohort);
  const bool settle_now = running_cohorts_ == 0 && !settling_;  // nothing else can end here at this instant
  if (settle_now) settling_ = true;
  if (--stream.cohorts == 0 && stream.undispatched == 0) {
    stream.enlisted = false;
    finish_head(index, stream.queue.front().start, engine_.now());
  }
  if (settle_now) {
    settle();
  } else {
    request_settle();
  }
}

void GpuDevice::finish_head(std::uint32_t stream, Seconds start, Seconds end) {
  const Queued done = std::move(streams_[stream].queue.front());
  streams_[stream].queue.pop_front();
  free_since_ = end;
  if (observer_) observer_(stream, done.task, start, end);
  if (done.on_done) done.on_done();
}

}  // namespace tessera
