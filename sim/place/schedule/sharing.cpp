#include "sim/place/schedule/sharing.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/place/schedule/instance.hpp"

namespace tessera {

namespace {

Seconds port_time(const SharedTraffic& traffic, const SharedBandwidth& bandwidth) {
  return max(traffic.hbm / bandwidth.hbm, traffic.buffer / bandwidth.buffer);
}

std::vector<OperatorLatency> raised(const SharedProblem& problem) {
  TESSERA_ASSERT(problem.traffic.size() == problem.latency.size(), "one traffic per operator");
  std::vector<OperatorLatency> latency(problem.latency.begin(), problem.latency.end());
  for (std::size_t i = 0; i < latency.size(); ++i) {
    const Seconds least = port_time(problem.traffic[i], problem.bandwidth);
    latency[i] = {max(latency[i].one_core, least), max(latency[i].all_cores, least)};
  }
  return latency;
}

Instance shared_instance(const SharedProblem& problem, const ScheduleProblem& alone) {
  Instance instance(alone);
  for (std::size_t i = 0; i < instance.size(); ++i) {
    const SharedTraffic& traffic =
        problem.traffic[static_cast<std::size_t>(problem.order.operator_of(static_cast<int>(i)))];
    instance.tasks[i].hbm = traffic.hbm / problem.bandwidth.hbm;
    instance.tasks[i].buffer = traffic.buffer / problem.bandwidth.buffer;
  }
  return instance;
}

/// One operator's use of one port, in the port's time.
struct Flow {
  Seconds left;       // of the port alone
  double most = 0.0;  // share of the port that it asks for
  double share = 0.0;
};

/// Max-min fair: who asks for less than an equal share gets it, and the others divide what is left.
void fill(std::vector<Flow*> flows) {
  std::sort(flows.begin(), flows.end(), [](const Flow* a, const Flow* b) { return a->most < b->most; });
  double free = 1.0;
  for (std::size_t n = 0; n < flows.size(); ++n) {
    flows[n]->share = std::min(flows[n]->most, free / static_cast<double>(flows.size() - n));
    free -= flows[n]->share;
  }
}

/// Runs a placement's operators in its orders, as soon as precedence and cores allow.
class Replay {
 public:
  Replay(const Instance& instance, const CorePlacement& nominal) : instance_(instance), timed_(nominal) {
    const std::size_t count = instance.size();
    before_.resize(count);
    state_.resize(count);
    for (std::size_t j = 0; j < count; ++j) {
      for (std::size_t i = 0; i < count; ++i) {
        if (i != j && must_precede(nominal, i, j)) before_[j].push_back(i);
      }
    }
  }

  CorePlacement run() {
    std::size_t left = instance_.size();
    timed_.makespan = {};
    while (left > 0) {
      start_ready();
      share_ports();
      left -= advance();
    }
    return std::move(timed_);
  }

 private:
  struct State {
    bool started = false, ended = false;
    Seconds latency_left;
    std::array<Flow, 2> flows{};
  };

  [[nodiscard]] bool must_precede(const CorePlacement& nominal, std::size_t i, std::size_t j) const {
    if (instance_.precedes(i, j)) return true;
    if (instance_.precedes(j, i)) return false;
    const PlacedOperator &a = nominal.tasks[i], &b = nominal.tasks[j];
    const bool first = a.start != b.start ? a.start < b.start : (a.end != b.end ? a.end < b.end : i < j);
    const bool same = (a.tensor_core >= 0 && a.tensor_core == b.tensor_core) ||
                      (a.vector_core >= 0 && a.vector_core == b.vector_core);
    return first && (a.all_cores || b.all_cores || same);
  }

  void start_ready() {
    for (std::size_t i = 0; i < instance_.size(); ++i) {
      State& state = state_[i];
      const bool ready = !state.started && std::all_of(before_[i].begin(), before_[i].end(),
                                                       [&](std::size_t p) { return state_[p].ended; });
      if (!ready) continue;
      const CoreTask& task = instance_.tasks[i];
      const Seconds alone = timed_.tasks[i].all_cores ? task.all_cores : task.one_core;
      state.started = true;
      state.latency_left = alone;
      const auto flow = [&](Seconds time) {
        return Flow{.left = time, .most = time > Seconds() ? std::min(1.0, time / alone) : 0.0};
      };
      state.flows = {flow(task.hbm), flow(task.buffer)};
      timed_.tasks[i].start = now_;
      running_.push_back(i);
    }
  }

  void share_ports() {
    for (const std::size_t port : {0u, 1u}) {
      std::vector<Flow*> flows;
      for (const std::size_t i : running_) {
        if (Flow& flow = state_[i].flows[port]; flow.left > Seconds()) flows.push_back(&flow);
      }
      fill(std::move(flows));
    }
  }

  /// To the next end of a flow or a latency; how many operators ended.
  std::size_t advance() {
    Seconds step(std::numeric_limits<double>::infinity());
    for (const std::size_t i : running_) {
      const State& state = state_[i];
      Seconds part(0.0);
      if (state.latency_left > Seconds()) part = state.latency_left;
      for (const Flow& flow : state.flows) {
        if (flow.left <= Seconds()) continue;
        const Seconds needs = flow.left / flow.share;
        part = part > Seconds() ? min(part, needs) : needs;
      }
      step = min(step, part);
    }
    now_ += step;
    // What ends within rounding of this step ends with it: a flow alone ends with its latency.
    const auto less = [&](Seconds left, Seconds done) {
      return left <= done * (1.0 + 1e-12) ? Seconds() : left - done;
    };
    std::size_t ended = 0;
    for (const std::size_t i : running_) {
      State& state = state_[i];
      state.latency_left = less(state.latency_left, step);
      bool done = state.latency_left == Seconds();
      for (Flow& flow : state.flows) {
        flow.left = less(flow.left, step * flow.share);
        done = done && flow.left == Seconds();
      }
      if (!done) continue;
      state.ended = true;
      timed_.tasks[i].end = now_;
      timed_.makespan = max(timed_.makespan, now_);
      ++ended;
    }
    std::erase_if(running_, [&](std::size_t i) { return state_[i].ended; });
    return ended;
  }

  const Instance& instance_;
  CorePlacement timed_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<State> state_;
  std::vector<std::size_t> running_;
  Seconds now_;
};

CorePlacement to_placement(const SharedProblem& problem, const Schedule& schedule) {
  CorePlacement placement{.tasks = {}, .makespan = schedule.makespan};
  for (int i = 0; i < problem.order.size(); ++i) {
    placement.tasks.push_back(schedule.operators[static_cast<std::size_t>(problem.order.operator_of(i))]);
  }
  return placement;
}

}  // namespace

Schedule replay_shared(const SharedProblem& problem, const Schedule& schedule) {
  const std::vector<OperatorLatency> latency = raised(problem);
  const ScheduleProblem alone{problem.order, latency, problem.cores};
  const Instance instance = shared_instance(problem, alone);
  return schedule_of(alone, Replay(instance, to_placement(problem, schedule)).run(), bound_of(instance));
}

ScheduleBound shared_bound(const SharedProblem& problem) {
  const std::vector<OperatorLatency> latency = raised(problem);
  return bound_of(shared_instance(problem, {problem.order, latency, problem.cores}));
}

Schedule shared_schedule(const SharedProblem& problem, const ScheduleLimits& limits) {
  const std::vector<OperatorLatency> latency = raised(problem);
  const ScheduleProblem alone{problem.order, latency, problem.cores};
  const Instance instance = shared_instance(problem, alone);
  const ScheduleBound bound = bound_of(instance);
  const auto replay = [&](const CorePlacement& placement) { return Replay(instance, placement).run(); };
  const Schedule unshared = optimal_schedule(alone, limits);
  CorePlacement best = replay(to_placement(problem, unshared));
  if (best.makespan > bound.makespan * (1.0 + kRounding)) {
    CorePlacement listed = best_list_schedule(instance, bound.makespan, replay);
    if (listed.makespan < best.makespan) best = std::move(listed);
  }
  Schedule schedule = schedule_of(alone, best, bound);
  // Sharing only delays, so the optimum without it bounds too.
  if (unshared.bound.makespan > schedule.bound.makespan * (1.0 + kRounding)) {
    schedule.bound = {.makespan = min(unshared.bound.makespan, schedule.makespan), .rule = unshared.bound.rule};
  }
  schedule.limit_reached = unshared.limit_reached;
  schedule.nodes = unshared.nodes;
  return schedule;
}

std::vector<std::string> shared_violations(const SharedProblem& problem, const Schedule& schedule) {
  const std::vector<OperatorLatency> latency = raised(problem);
  return schedule_violations({problem.order, latency, problem.cores}, schedule, Durations::at_least);
}

}  // namespace tessera
