#include "tests/property/random_schedule.hpp"

#include <algorithm>
#include <limits>

namespace tessera {

namespace {

std::uint32_t sides(int count) {
  return static_cast<std::uint32_t>(count);
}

/// Everything is tried, nothing is pruned but what is already too long.
class Enumeration {
 public:
  explicit Enumeration(const ScheduleProblem& problem)
      : problem_(problem),
        end_(problem.latency.size(), Seconds(-1.0)),
        tensor_(static_cast<std::size_t>(problem.cores.tensor)),
        vector_(static_cast<std::size_t>(problem.cores.vector)) {}

  Seconds run() {
    extend(0, Seconds());
    return best_;
  }

 private:
  void extend(std::size_t done, Seconds makespan) {
    if (makespan >= best_) return;
    if (done == end_.size()) {
      best_ = makespan;
      return;
    }
    for (std::size_t i = 0; i < end_.size(); ++i) {
      if (end_[i] >= Seconds()) continue;
      Seconds ready;
      bool waits = false;
      for (const Precedence& edge : problem_.order.graph().edges) {
        if (static_cast<std::size_t>(edge.after) != i) continue;
        const Seconds end = end_[static_cast<std::size_t>(edge.before)];
        waits = waits || end < Seconds();
        ready = max(ready, end);
      }
      if (!waits) place(i, ready, done, makespan);
    }
  }

  void place(std::size_t i, Seconds ready, std::size_t done, Seconds makespan) {
    const auto finish = [&](Seconds end) {
      end_[i] = end;
      extend(done + 1, max(makespan, end));
      end_[i] = Seconds(-1.0);
    };
    const CoreClass core = problem_.order.graph().core[i];
    if (core == CoreClass::none) return finish(ready);
    const std::vector<Seconds> tensor = tensor_, vector = vector_;
    Seconds idle = ready;
    for (const Seconds t : tensor) idle = max(idle, t);
    for (const Seconds v : vector) idle = max(idle, v);
    const Seconds all_end = idle + problem_.latency[i].all_cores;
    tensor_.assign(tensor.size(), all_end);
    vector_.assign(vector.size(), all_end);
    finish(all_end);
    tensor_ = tensor;
    vector_ = vector;
    const std::size_t count = core == CoreClass::tensor   ? tensor.size()
                              : core == CoreClass::vector ? vector.size()
                                                          : std::min(tensor.size(), vector.size());
    for (std::size_t c = 0; c < count; ++c) {
      Seconds start = ready;
      if (core != CoreClass::vector) start = max(start, tensor[c]);
      if (core != CoreClass::tensor) start = max(start, vector[c]);
      const Seconds end = start + problem_.latency[i].one_core;
      if (core != CoreClass::vector) tensor_[c] = end;
      if (core != CoreClass::tensor) vector_[c] = end;
      finish(end);
      tensor_ = tensor;
      vector_ = vector;
    }
  }

  const ScheduleProblem& problem_;
  std::vector<Seconds> end_;  // negative: not placed
  std::vector<Seconds> tensor_, vector_;
  Seconds best_{std::numeric_limits<double>::infinity()};
};

}  // namespace

RandomProblem random_problem(Rng& rng, int operators, int most_cores) {
  OperatorGraph graph;
  std::vector<OperatorLatency> latency;
  const std::uint32_t density = 1 + rng.below(6);
  for (int j = 0; j < operators; ++j) {
    const std::uint32_t kind = rng.below(8);
    graph.core.push_back(kind == 0  ? CoreClass::none
                         : kind < 4 ? CoreClass::vector
                         : kind < 6 ? CoreClass::tensor
                                    : CoreClass::fused);
    const auto one = static_cast<double>(rng.below(12));
    latency.push_back({Seconds(one), Seconds(static_cast<double>(rng.below(12)) * 0.5)});
    for (int i = 0; i < j; ++i) {
      if (rng.below(8) < density / 2) graph.edges.push_back({i, j});
    }
  }
  const Cores cores{1 + static_cast<int>(rng.below(sides(most_cores))),
                    1 + static_cast<int>(rng.below(sides(most_cores)))};
  return {.order = OperatorOrder(std::move(graph)), .latency = std::move(latency), .cores = cores};
}

Seconds brute_force(const ScheduleProblem& problem) {
  return Enumeration(problem).run();
}

}  // namespace tessera
