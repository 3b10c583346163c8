#include "sim/dispatch/fluid_clock.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace tessera {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

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
  slot = {work.sms, work.rate.value(), work.weight, {}, {}};
  slot.compute = {left.sms.value(), 0, now_, kNever};
  slot.memory = {left.memory.value(), 0, now_, kNever};
  if (running) enter(cohort);
}

void FluidClock::enter(std::uint32_t cohort) {
  active_.push_back(cohort);
  changed_ = true;
}

void FluidClock::suspend(std::uint32_t cohort) {
  Slot& slot = slots_[cohort];
  slot.compute.set_speed(0, now_);
  slot.memory.set_speed(0, now_);
  std::erase(active_, cohort);
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

/// Speeds after cohorts came or went.
void FluidClock::rerate() {
  changed_ = false;
  double sms = 0, demand = 0;
  for (const std::uint32_t c : active_) {
    const Slot& slot = slots_[c];
    if (slot.compute.left > 0) sms += slot.sms;
    if (slot.memory.left > 0) demand += slot.rate;
  }
  const double speed = sms > sms_ ? sms_ / sms : 1.0;
  for (const std::uint32_t c : active_) slots_[c].compute.set_speed(speed, now_);
  if (demand > bandwidth_) {
    share_memory();
  } else {
    for (const std::uint32_t c : active_) slots_[c].memory.set_speed(slots_[c].rate, now_);
  }
}

/// Max-min: whoever wants less per SM than what is left for each gets it, until nobody does; the others share.
void FluidClock::share_memory() {
  double bandwidth = bandwidth_, weight = 0;
  const auto wants = [this](std::uint32_t c) { return slots_[c].memory.left > 0; };
  for (const std::uint32_t c : active_) weight += wants(c) ? slots_[c].weight : 0;
  double level = 0;  // rate per weight below which everyone is served
  for (bool again = true; again;) {
    again = false;
    const double fair = bandwidth / weight;
    for (const std::uint32_t c : active_) {
      const Slot& slot = slots_[c];
      const double per_weight = slot.rate / slot.weight;
      if (!wants(c) || per_weight > fair || per_weight <= level) continue;
      bandwidth -= slot.rate;
      weight -= slot.weight;
      again = true;
    }
    if (again)
      level = fair;
    else
      level = std::max(level, fair);
  }
  for (const std::uint32_t c : active_) {
    Slot& slot = slots_[c];
    slot.memory.set_speed(std::min(slot.rate, level * slot.weight), now_);
  }
}

double FluidClock::next_date() const {
  double next = dates_.empty() ? kNever : dates_.front();
  for (const std::uint32_t c : active_) next = std::min({next, slots_[c].compute.end, slots_[c].memory.end});
  return next;
}

void FluidClock::end_parts() {
  const double until = now_ + kSameInstant.value();
  const auto end = [until, this](Part& part) {
    if (part.end > until) return;
    part = {0, 0, now_, kNever};
    changed_ = true;
  };
  ended_.clear();
  std::erase_if(active_, [&](std::uint32_t c) {
    Slot& slot = slots_[c];
    end(slot.compute);
    end(slot.memory);
    if (slot.compute.left > 0 || slot.memory.left > 0) return false;
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
