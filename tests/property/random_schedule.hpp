// Small random scheduling problems, and their optimum by trying everything.
#pragma once

#include <vector>

#include "sim/base/rng.hpp"
#include "sim/place/schedule/problem.hpp"

namespace tessera {

struct RandomProblem {
  OperatorOrder order;
  std::vector<OperatorLatency> latency;
  Cores cores;

  [[nodiscard]] ScheduleProblem problem() const { return {order, latency, cores}; }
};

/// `operators` of any class, `none` too; latencies of whole seconds, some of them 0; cores up to `most_cores`.
RandomProblem random_problem(Rng& rng, int operators, int most_cores);

/// The shortest makespan over every order, choice and core, each operator as early as possible after those before it.
Seconds brute_force(const ScheduleProblem& problem);

}  // namespace tessera
