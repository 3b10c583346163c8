// Calls at dates on SimGrid's timers: ten times cheaper than an activity, and ties in the order of asking.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/des/guard.hpp"

namespace tessera {

class Clock {
 public:
  using Call = std::function<void()>;

  explicit Clock(Guard& guard) : guard_(guard) {}

  [[nodiscard]] static Seconds now();
  void at(Seconds date, Call call);
  void after_this_instant(Call call);
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  struct Entry {
    Seconds date;
    std::uint64_t order;
    Call call;
  };
  static bool later(const Entry& a, const Entry& b) { return a.date != b.date ? a.date > b.date : a.order > b.order; }
  void arm();
  void ring();

  Guard& guard_;
  std::vector<Entry> heap_;
  Seconds armed_{-1.0};  // date of the earliest SimGrid timer that is still to come; < 0: none
  std::uint64_t orders_ = 0, events_ = 0;
  bool ringing_ = false;
};

}  // namespace tessera
