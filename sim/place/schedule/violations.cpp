#include <fmt/format.h>

#include <algorithm>

#include "sim/place/schedule/schedule.hpp"

namespace tessera {

namespace {

constexpr double kTolerance = 1e-9;  // of the makespan: starts from a solver are rounded

class Checker {
 public:
  Checker(const ScheduleProblem& problem, const Schedule& schedule, Durations durations)
      : problem_(problem),
        durations_(durations),
        graph_(problem.order.graph()),
        placed_(schedule.operators),
        slack_(schedule.makespan * kTolerance) {}

  std::vector<std::string> run(Seconds makespan) {
    if (placed_.size() != graph_.core.size()) {
      add(fmt::format("{} operators are placed, but there are {}", placed_.size(), graph_.core.size()));
      return std::move(violations_);
    }
    Seconds last;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      check_alone(i);
      last = max(last, placed_[i].end);
    }
    if (differ(last, makespan)) add("the makespan is not the last end");
    for (const auto& [before, after] : graph_.edges) {
      const auto i = static_cast<std::size_t>(before), j = static_cast<std::size_t>(after);
      if (placed_[j].start < placed_[i].end - slack_) add(fmt::format("operator {} starts before {} ends", j, i));
    }
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      for (std::size_t j = i + 1; j < placed_.size(); ++j) check_pair(i, j);
    }
    return std::move(violations_);
  }

 private:
  void add(std::string violation) { violations_.push_back(std::move(violation)); }
  [[nodiscard]] bool differ(Seconds a, Seconds b) const { return a > b + slack_ || b > a + slack_; }

  void check_alone(std::size_t i) {
    const PlacedOperator& placed = placed_[i];
    const CoreClass core = graph_.core[i];
    const OperatorLatency& latency = problem_.latency[i];
    const Seconds expected = core == CoreClass::none ? Seconds()
                             : placed.all_cores      ? latency.all_cores
                                                     : latency.one_core;
    if (placed.start < -slack_) add(fmt::format("operator {} starts before 0", i));
    const Seconds lasts = placed.end - placed.start;
    const bool wrong = durations_ == Durations::exact ? differ(lasts, expected) : lasts < expected - slack_;
    if (wrong) add(fmt::format("operator {} does not last its latency", i));
    const bool one = core != CoreClass::none && !placed.all_cores;
    const bool tensor = one && core != CoreClass::vector, vector = one && core != CoreClass::tensor;
    check_core(i, "tensor", placed.tensor_core, tensor, problem_.cores.tensor);
    check_core(i, "vector", placed.vector_core, vector, problem_.cores.vector);
    if (tensor && vector && placed.tensor_core != placed.vector_core) {
      add(fmt::format("fused operator {} is on tensor core {} and vector core {}", i, placed.tensor_core,
                      placed.vector_core));
    }
  }

  void check_core(std::size_t i, const char* kind, int core, bool needed, int count) {
    if (needed && (core < 0 || core >= count)) add(fmt::format("operator {} has no {} core", i, kind));
    if (!needed && core >= 0) add(fmt::format("operator {} holds a {} core that it does not need", i, kind));
  }

  void check_pair(std::size_t i, std::size_t j) {
    const PlacedOperator &a = placed_[i], &b = placed_[j];
    if (graph_.core[i] == CoreClass::none || graph_.core[j] == CoreClass::none) return;
    if (a.end <= b.start + slack_ || b.end <= a.start + slack_) return;
    if (a.all_cores || b.all_cores) {
      add(fmt::format("operators {} and {} overlap, but one has all cores", i, j));
    } else if ((a.tensor_core >= 0 && a.tensor_core == b.tensor_core) ||
               (a.vector_core >= 0 && a.vector_core == b.vector_core)) {
      add(fmt::format("operators {} and {} overlap on one core", i, j));
    }
  }

  const ScheduleProblem& problem_;
  Durations durations_;
  const OperatorGraph& graph_;
  const std::vector<PlacedOperator>& placed_;
  Seconds slack_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> schedule_violations(const ScheduleProblem& problem, const Schedule& schedule,
                                             Durations durations) {
  return Checker(problem, schedule, durations).run(schedule.makespan);
}

}  // namespace tessera
