#include "sim/dispatch/fluid_clock.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace tessera {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-12;  // of sums that are kept up to date

}  // namespace

FluidClock::FluidClock(int sms, BytesPerSec bandwidth, Seconds start)
    : sms_(sms), bandwidth_(bandwidth.value()), now_(start.value()) {}

void FluidClock::Part::set_speed(double to, double now) {
  if (end == kNever && left == 0) return;
  if (to == speed && end != kNever) return;
  left = std::max(0.0, left_at(now));
  since = now;
  speed = to;
  end = speed > 0 ? now + left / speed : kNever;
}

void FluidClock::start(std::uint32_t cohort, const CohortWork& work) {
  const double duration = work.duration.value();
  adopt(cohort, work, {work.duration, Bytes(work.rate.value() * duration)}, true);
}

void FluidClock::adopt(std::uint32_t cohort, const CohortWork& work, Left left, bool running) {
  if (slots_.size() <= cohort) slots_.resize(cohort + 1);
  Slot& slot = slots_[cohort];
  slot = {work.sms, work.rate.value(), work.weight, work.rate.value() / work.weight, {}, {}};
  slot.compute = {left.sms.value(), 0, now_, kNever};
  slot.memory = {left.memory.value(), 0, now_, kNever};
  if (running) enter(cohort);
}

void FluidClock::enter(std::uint32_t cohort) {
  const Slot& slot = slots_[cohort];
  active_.push_back(cohort);
  fresh_.push_back(cohort);
  if (slot.compute.left > 0) taken_ += slot.sms;
  if (slot.memory.left > 0) {
    demand_ += slot.rate;
    const auto wish = [this](std::uint32_t c) { return slots_[c].wish; };
    drawing_.insert(std::ranges::upper_bound(drawing_, slot.wish, {}, wish), cohort);
  }
  changed_ = true;
}

void FluidClock::suspend(std::uint32_t cohort) {
  Slot& slot = slots_[cohort];
  slot.compute.set_speed(0, now_);
  slot.memory.set_speed(0, now_);
  if (slot.compute.left > 0) taken_ -= slot.sms;
  if (slot.memory.left > 0) demand_ -= slot.rate;
  std::erase(active_, cohort);
  std::erase(drawing_, cohort);
  std::erase(fresh_, cohort);
  changed_ = true;
}

void FluidClock::resume(std::uint32_t cohort) {
  enter(cohort);
}

void FluidClock::wake(Seconds date) {
  dates_.push_back(std::max(now_, date.value()));
  std::ranges::push_heap(dates_, std::greater<>{});
}

GpuExecutor::Left FluidClock::left(std::uint32_t cohort) const {
  const Slot& slot = slots_[cohort];
  return {Seconds(std::max(0.0, slot.compute.left_at(now_))), Bytes(std::max(0.0, slot.memory.left_at(now_)))};
}

/// Speeds after cohorts came or went. Where the others' do not change, only those who came need theirs.
void FluidClock::rerate() {
  changed_ = false;
  if (active_.empty()) taken_ = demand_ = 0;  // no rounding stays
  const double speed = taken_ > sms_ * (1 + kRounding) ? sms_ / taken_ : 1.0;
  const bool enough_memory = demand_ <= bandwidth_ * (1 + kRounding);
  for (const std::uint32_t c : speed == speed_ ? fresh_ : active_) slots_[c].compute.set_speed(speed, now_);
  if (enough_memory) {
    for (const std::uint32_t c : enough_ ? fresh_ : drawing_) slots_[c].memory.set_speed(slots_[c].rate, now_);
  } else {
    share_memory();
  }
  speed_ = speed;
  enough_ = enough_memory;
  fresh_.clear();
}

/// Max-min: whoever wants less per SM than what is left for each gets it; the others share.
void FluidClock::share_memory() {
  double bandwidth = bandwidth_, weight = 0;
  for (const std::uint32_t c : drawing_) weight += slots_[c].weight;
  for (const std::uint32_t c : drawing_) {  // modest wishes first
    Slot& slot = slots_[c];
    const bool served = slot.wish * weight <= bandwidth;
    slot.memory.set_speed(served ? slot.rate : bandwidth / weight * slot.weight, now_);
    if (!served) continue;
    bandwidth -= slot.rate;
    weight -= slot.weight;
  }
}

double FluidClock::next_date() const {
  double next = dates_.empty() ? kNever : dates_.front();
  for (const std::uint32_t c : active_) next = std::min({next, slots_[c].compute.end, slots_[c].memory.end});
  return next;
}

bool FluidClock::end_part(Part& part, double& sum, double amount) {
  if (part.end > now_ + kSameInstant.value()) return false;
  part = {0, 0, now_, kNever};
  sum -= amount;
  return changed_ = true;
}

void FluidClock::end_parts() {
  ended_.clear();
  std::erase_if(active_, [&](std::uint32_t c) {
    Slot& slot = slots_[c];
    const bool computed = end_part(slot.compute, taken_, slot.sms);
    const bool carried = end_part(slot.memory, demand_, slot.rate);
    if (carried) std::erase(drawing_, c);
    if (!(computed || carried) || slot.compute.left > 0 || slot.memory.left > 0) return false;
    ended_.push_back(c);
    return true;
  });
}

void FluidClock::run(GpuCore& core) {
  for (;;) {
    if (changed_) rerate();
    const double next = next_date();
    if (next == kNever) return;
    now_ = std::max(now_, next);
    while (!dates_.empty() && dates_.front() <= now_) {
      std::ranges::pop_heap(dates_, std::greater<>{});
      dates_.pop_back();
    }
    end_parts();
    for (const std::uint32_t c : ended_) core.cohort_ended(c);
    ++events_;
    core.settle();
  }
}

}  // namespace tessera
