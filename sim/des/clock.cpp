#include "sim/des/clock.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Engine.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {

Seconds Clock::now() {
  return Seconds(simgrid::s4u::Engine::get_clock());
}

void Clock::at(Seconds date, Call call) {
  heap_.push_back({max(date, now()), orders_++, std::move(call)});
  std::ranges::push_heap(heap_, later);
  if (!ringing_) arm();
}

// SimGrid runs the timers of an instant before it reports the activities that end at it, so from inside a timer the
// next representable date is the first that comes after both.
void Clock::after_this_instant(Call call) {
  const double date = now().value();
  at(Seconds(ringing_ ? std::nextafter(date, std::numeric_limits<double>::infinity()) : date), std::move(call));
}

void Clock::arm() {
  if (heap_.empty() || (armed_ >= Seconds(0.0) && armed_ <= heap_.front().date)) return;
  armed_ = heap_.front().date;
  simgrid::kernel::timer::Timer::set(armed_.value(), [this] { ring(); });
}

void Clock::ring() {
  if (armed_ <= now()) armed_ = Seconds(-1.0);  // otherwise this is an older timer than the armed one
  ringing_ = true;
  while (!heap_.empty() && heap_.front().date <= now()) {
    std::ranges::pop_heap(heap_, later);
    const Call call = std::move(heap_.back().call);
    heap_.pop_back();
    ++events_;
    guard_.call(call, now());
  }
  ringing_ = false;
  if (guard_.failed()) heap_.clear();
  arm();
}

}  // namespace tessera
