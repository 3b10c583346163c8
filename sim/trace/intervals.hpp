// When something was busy, as a union of intervals, and what that means for a GPU.
#pragma once

#include <vector>

#include "sim/trace/trace.hpp"

namespace tessera {

struct Interval {
  Seconds start, end;
};

/// A union of intervals; those that touch become one as they are added.
class Intervals {
 public:
  void add(Seconds start, Seconds end);
  /// Disjoint, in order.
  [[nodiscard]] std::vector<Interval> merged() const;

 private:
  std::vector<Interval> intervals_;
};

Seconds total(const std::vector<Interval>& merged);
/// Time that both cover.
Seconds overlap(const std::vector<Interval>& a, const std::vector<Interval>& b);

/// compute + exposed communication + idle = makespan.
GpuUse gpu_use(const Intervals& compute, const Intervals& communication, Seconds makespan);

}  // namespace tessera
