// Which stream's kernel sends blocks now. All that happens at one instant is settled once, so that ties are ours.
#include "sim/dispatch/gpu_core.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

/// Connections between host and GPU; more streams share them, and a launch waits for the one before it there
/// (CUDA_DEVICE_MAX_CONNECTIONS; the head-of-line effect that Paella shows).
constexpr std::size_t kHardwareQueues = 32;

}  // namespace

GpuCore::GpuCore(const GpuSpec& gpu, DispatchPolicy& policy, const GpuCoreOptions& options)
    : policy_(&policy),
      options_(options),
      sms_(gpu.sms),
      limits_(sm_limits(gpu)),
      bandwidth_(gpu.memory_bandwidth),
      interference_(gpu, options.terms) {}

void GpuCore::bind(GpuExecutor& executor, GpuListener& listener, DispatchPolicy& policy) {
  executor_ = &executor;
  listener_ = &listener;
  policy_ = &policy;
}

void GpuCore::hand_over(const GpuExecutor& from, const Adopt& adopt) {
  for (std::uint32_t c = 0; c < cohorts_.size(); ++c) {
    const Cohort& cohort = cohorts_[c];
    if (cohort.state != Cohort::free) adopt(c, cohort.work, from.left(c), cohort.state == Cohort::running);
  }
  for (Stream& stream : streams_) stream.armed = Seconds(-1.0);
  for (const std::uint32_t stream : interrupted_) executor_->wake(streams_[stream].freezes);
  slice_armed_ = Seconds(-1.0);
  if (switching_) executor_->wake(switched_);
  if (solo_ >= 0) planned_ = 0;
}

std::uint32_t GpuCore::add_stream(const StreamSpec& spec) {
  while (processes_.size() <= spec.process) processes_.push_back({.pool = SmPool(sms_, limits_)});
  Stream stream;
  stream.spec = spec;
  streams_.push_back(std::move(stream));
  StreamView view;
  view.priority = spec.priority;
  views_.push_back(view);
  hardware_queues_.resize(std::min(kHardwareQueues, streams_.size()));
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

void GpuCore::Stream::pop() {
  constexpr std::size_t kCompact = 256;
  if (++head == queue.size()) {
    queue.clear();
    head = 0;
  } else if (head >= kCompact && head * 2 > queue.size()) {
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
    head = 0;
  }
}

void GpuCore::submit(std::uint32_t stream, const DeviceKernel& kernel, Seconds release, std::uint32_t task,
                     bool observed) {
  Stream& into = streams_[stream];
  const bool first = into.empty();
  into.queue.push_back({&kernel, max(release, executor_->now()), task, observed, Seconds(0.0), Seconds(0.0)});
  if (first) {
    ++busy_;
    await_head(stream);
  }
  if (streams_.size() > kHardwareQueues) hardware_queues_[stream % kHardwareQueues].push_back(stream);
}

bool GpuCore::idle() const {
  return busy_ == 0;
}

void GpuCore::settle() {
  freeze_due();
  if (solo_ >= 0) {
    const auto alone = static_cast<std::uint32_t>(solo_);
    finish_planned(alone, executor_->now());
  }
  listener_->instant();
  if (solo_ >= 0) {
    const auto alone = static_cast<std::uint32_t>(solo_);
    if (has_company(alone)) split_solo();
  }
  plan_again();
  open_gaps();
  if (solo_ >= 0 && streams_[static_cast<std::size_t>(solo_)].empty()) solo_ = -1;
  if (solo_ < 0 && take_turns()) {
    solo_ = lone_stream();
    if (solo_ < 0) {
      enlist_released();
      dispatch();
    }
  }
  if (solo_ >= 0) plan_solo();
  arm_releases();
}

Seconds GpuCore::release_of(const Stream& stream) const {
  return max(stream.front().release, stream.free_from);
}

bool GpuCore::released(const Stream& stream) const {
  return !stream.empty() && due(release_of(stream), executor_->now());
}

/// Where the gap between kernels depends on who is at work, whoever has kernels at all is company.
bool GpuCore::has_company(std::uint32_t stream) const {
  if (options_.terms.launch) return busy_ > (streams_[stream].empty() ? 0 : 1);
  return std::ranges::any_of(pending_, [&](auto other) { return other != stream && released(streams_[other]); });
}

/// When everybody who starts or ends at this instant is known.
void GpuCore::open_gaps() {
  const auto off = std::ranges::count_if(just_ended_, [this](auto stream) { return views_[stream].resident == 0; });
  const int active = resident_streams_ + static_cast<int>(off);
  for (const std::uint32_t stream : just_ended_) streams_[stream].free_from += interference_.gap(active);
  just_ended_.clear();
}

bool GpuCore::at_head_of_hardware_queue(std::uint32_t stream) const {
  return streams_.size() <= kHardwareQueues || hardware_queues_[stream % kHardwareQueues].front() == stream;
}

/// Keeps `pending_` after the stream's head changed.
void GpuCore::await_head(std::uint32_t index) {
  const auto at = std::ranges::lower_bound(pending_, index);
  const bool listed = at != pending_.end() && *at == index;
  const bool pending = !streams_[index].empty() && !streams_[index].enlisted;
  if (pending && !listed) pending_.insert(at, index);
  if (!pending && listed) pending_.erase(at);
}

/// By priority, then in order of arrival.
QueuedKernel& GpuCore::Process::join(const QueuedKernel& kernel) {
  const auto before = [](const QueuedKernel& a, const QueuedKernel& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.arrival < b.arrival;
  };
  return *queue.insert(std::ranges::upper_bound(queue, kernel, before), kernel);
}

/// The caller keeps `pending_`.
void GpuCore::enlist(std::uint32_t index) {
  Stream& stream = streams_[index];
  stream.enlisted = true;
  stream.undispatched = stream.front().kernel->blocks;
  stream.front().start = executor_->now();
  stream.arrival = arrivals_++;
  processes_[stream.spec.process].join(
      {index, stream.spec.priority, stream.arrival, stream.undispatched, false, false, stream.front().kernel});
  leave_hardware_queue(index);
}

void GpuCore::leave_hardware_queue(std::uint32_t stream) {
  if (streams_.size() > kHardwareQueues) hardware_queues_[stream % kHardwareQueues].pop_front();
}

void GpuCore::enlist_released() {
  std::erase_if(pending_, [this](std::uint32_t stream) {
    if (!released(streams_[stream]) || !at_head_of_hardware_queue(stream)) return false;
    enlist(stream);
    return true;
  });
}

void GpuCore::dispatch() {
  const std::uint32_t turn = active_;
  for (;;) {
    const DispatchView view{executor_->now(), sms_, bandwidth_, processes_[turn].queue, views_, forecast_};
    const Decision decision = policy_->next(view);
    if (decision.interrupt >= 0) interrupt(static_cast<std::uint32_t>(decision.interrupt), decision.reset);
    if (decision.kernel < 0) break;
    TESSERA_ASSERT(decision.blocks > 0, "a decision to dispatch sends at least a block");
    send(turn, static_cast<std::size_t>(decision.kernel), decision.blocks);
  }
  launch_placed();
}

void GpuCore::send(std::uint32_t process, std::size_t index, std::int64_t most) {
  auto& queue = processes_[process].queue;
  QueuedKernel& entry = queue[index];
  if (entry.frozen && !thaw(process, index)) {
    entry.blocked = true;
    return;
  }
  Stream& stream = streams_[entry.stream];
  const std::int64_t asked = std::min(entry.blocks_left, most);
  const std::uint32_t cohort = asked > 0 ? place(entry.stream, asked) : 0;
  const std::int64_t blocks = asked > 0 ? cohorts_[cohort].blocks : 0;
  if (blocks > 0) {
    if (stream.undispatched == stream.front().kernel->blocks) stream.front().start = executor_->now();
    placed_.push_back(cohort);
  }
  stream.undispatched = entry.blocks_left -= blocks;
  entry.blocked = blocks < asked;  // it placed all that fit
  if (entry.blocks_left == 0) queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(index));
}

/// A wake-up for every head that is still to be released; the one that has the GPU alone knows its own dates.
void GpuCore::arm_releases() {
  for (const std::uint32_t index : pending_) {
    Stream& stream = streams_[index];
    if (static_cast<int>(index) == solo_) continue;
    const Seconds release = release_of(stream);
    if (due(release, executor_->now()) || release == stream.armed) continue;
    stream.armed = release;
    executor_->wake(release);
  }
}

}  // namespace tessera
