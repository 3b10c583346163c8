// Operators that run at the same time share the chip's memory bandwidth: schedules timed and bounded with that.
#pragma once

#include <span>

#include "sim/place/schedule/schedule.hpp"

namespace tessera {

/// What an operator moves, on one core or on all.
struct SharedTraffic {
  Bytes hbm, buffer;
};
/// The ports that all cores share. L2 ports are each core's own and belong into its latency.
struct SharedBandwidth {
  BytesPerSec hbm, buffer;
};

/// A view, as ScheduleProblem. Latencies are those of an operator alone; one that is shorter than its traffic takes is
/// raised.
struct SharedProblem {
  const OperatorOrder& order;
  std::span<const OperatorLatency> latency;
  std::span<const SharedTraffic> traffic;
  Cores cores;
  SharedBandwidth bandwidth;
};

/// The same choices, cores and orders, timed anew: an operator moves its bytes evenly over its latency alone; where
/// operators together ask for more than a port gives, it is shared max-min fairly; one ends when its latency has passed
/// and its bytes have moved. The bound becomes shared_bound.
Schedule replay_shared(const SharedProblem& problem, const Schedule& schedule);

/// A lower bound on every schedule under sharing: as schedule_bound, with the ports' time as two more energies.
ScheduleBound shared_bound(const SharedProblem& problem);

/// The best replay of the optimum without sharing and of list schedules over choices. Its makespan can be had, its
/// bound holds for every schedule; that no schedule lies between is proven only where they meet (`optimal()`).
Schedule shared_schedule(const SharedProblem& problem, const ScheduleLimits& limits = {});

/// Rules that a schedule under sharing breaks: as schedule_violations, but an operator may take longer than alone.
std::vector<std::string> shared_violations(const SharedProblem& problem, const Schedule& schedule);

}  // namespace tessera
