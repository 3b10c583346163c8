#include "sim/des/engine_clock.hpp"

namespace tessera {

void EngineClock::start(std::uint32_t cohort, const CohortWork& work) {
  if (slots_.size() <= cohort) slots_.resize(cohort + 1);
  Slot& slot = slots_[cohort];
  slot = {.computes = true, .transfers = work.rate > BytesPerSec(0.0), .sms = work.sms};
  slot.compute = engine_.compute(gpu_, work.sms, work.duration, [this, cohort] { part_ended(cohort, true); });
  if (!slot.transfers) return;
  slot.memory = engine_.memory(gpu_, work.weight, work.rate * work.duration, work.rate,
                               [this, cohort] { part_ended(cohort, false); });
}

void EngineClock::suspend(std::uint32_t cohort) {
  const Slot& slot = slots_[cohort];
  if (slot.computes) engine_.suspend(slot.compute);
  if (slot.transfers) engine_.suspend(slot.memory);
}

void EngineClock::resume(std::uint32_t cohort) {
  const Slot& slot = slots_[cohort];
  if (slot.computes) engine_.resume(slot.compute);
  if (slot.transfers) engine_.resume(slot.memory);
}

GpuExecutor::Left EngineClock::left(std::uint32_t cohort) const {
  const Slot& slot = slots_[cohort];
  return {Seconds(slot.computes ? engine_.remaining(slot.compute) / slot.sms : 0.0),
          Bytes(slot.transfers ? engine_.remaining(slot.memory) : 0.0)};
}

void EngineClock::wake(Seconds date) {
  engine_.at(date, [this] {
    if (core_.running() == 0 && !settling_) {
      settle();  // nothing can end here at this instant
    } else {
      request_settle();
    }
  });
}

void EngineClock::request_settle() {
  if (settling_) return;
  settling_ = true;
  engine_.after_this_instant([this] { settle(); });
}

void EngineClock::settle() {
  settling_ = true;  // what is submitted meanwhile is settled by this very call
  core_.settle();
  settling_ = false;
}

void EngineClock::part_ended(std::uint32_t cohort, bool compute) {
  Slot& slot = slots_[cohort];
  (compute ? slot.computes : slot.transfers) = false;
  if (slot.computes || slot.transfers) return;
  const bool last = core_.running() == 1 && !settling_;  // nothing else can end here at this instant
  if (last) settling_ = true;
  core_.cohort_ended(cohort);
  if (last) {
    settle();
  } else {
    request_settle();
  }
}

}  // namespace tessera
