// What a step waits for: the chain of kernels, collectives and launches that ends with it, without a gap.
#pragma once

#include <string>
#include <vector>

#include "sim/graph/plan.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

struct PathPart {
  std::string name;
  Seconds time;  // on the path
};

/// Found backwards from the end: whoever of those that a task waits for ended last (of two, on the stage that is
/// closer to the busiest) decides when it starts. A collective starts with the last of its members, a message when both
/// sides are there; what lies between the last one's end and the start is the host's. On a pipeline the path is at home
/// on the stage where it spends the most; while it is on another stage and home is idle (fill, drain, waiting for each
/// other) it is the bubble, which is so never more than home's idle time. Equal stages under GPipe or 1F1B:
/// (stages - 1) (forward + backward) and the messages. Where home is busy beside it, it counts as what it is.
struct CriticalPath {
  std::vector<PathPart> parts;      // by falling time; they add up to the step
  std::vector<PathPart> operators;  // kernels outside the bubble by name, by falling time
  int stage = 0;                    // home
};

/// Empty where spans were not recorded.
CriticalPath critical_path(const Plan& plan, const Trace& trace);

/// How many times as fast a step can be at most if a part of its path cost nothing: the rest of the path is still
/// there. Other paths may become the longest, so it may be less.
double speed_up_bound(Seconds step, Seconds part);

}  // namespace tessera
