// A clock for GpuCore without SimGrid: cohorts as fluids on two shared resources, and dates.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/dispatch/gpu_core.hpp"

namespace tessera {

/// SMs are shared in proportion to what cohorts hold, bandwidth by max-min per SM, as sim/des configures SimGrid.
class FluidClock final : public GpuExecutor {
 public:
  FluidClock(int sms, BytesPerSec bandwidth, Seconds start = Seconds(0.0));

  [[nodiscard]] Seconds now() const override { return Seconds(now_); }
  void start(std::uint32_t cohort, const CohortWork& work) override;
  void suspend(std::uint32_t cohort) override;
  void resume(std::uint32_t cohort) override;
  void wake(Seconds date) override;
  [[nodiscard]] Left left(std::uint32_t cohort) const override;
  /// A cohort that another clock had begun.
  void adopt(std::uint32_t cohort, const CohortWork& work, Left left, bool running);

  /// Until there is nothing left to do.
  void run(GpuCore& core);
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  /// One of a cohort's two parts: an amount that shrinks at a speed since a date.
  struct Part {
    double left = 0, speed = 0, since = 0, end = 0;
    void set_speed(double to, double now);
    [[nodiscard]] double left_at(double now) const { return left - speed * (now - since); }
  };
  struct Slot {
    double sms = 0, rate = 0, weight = 0, wish = 0;  // wish: rate per weight
    Part compute, memory;
  };
  void enter(std::uint32_t cohort);
  void rerate();
  bool end_part(Part& part, double& sum, double amount);
  void share_memory();
  [[nodiscard]] double next_date() const;
  void end_parts();

  double sms_, bandwidth_, now_;
  std::vector<Slot> slots_;            // by cohort
  std::vector<std::uint32_t> active_;  // neither ended nor suspended
  std::vector<std::uint32_t> ended_;
  std::vector<double> dates_;             // a heap
  std::vector<std::uint32_t> fresh_;      // active, without speeds yet
  std::vector<std::uint32_t> drawing_;    // active ones with memory parts, modest wishes first
  double taken_ = 0, demand_ = 0;         // SMs and rates of the active parts
  double speed_ = 1;                      // of computing
  bool changed_ = false, enough_ = true;  // bandwidth for all
  std::uint64_t events_ = 0;
};

}  // namespace tessera
