#include "sim/place/search/chip_workload.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "sim/base/error.hpp"
#include "sim/place/chip/economics.hpp"
#include "sim/place/pipeline/baselines.hpp"

namespace tessera {
namespace {

constexpr double kRounding = 1e-9;  // a bound stays one when sums are added in another order

struct PassTime {
  Seconds time;
  double gap = 0;
};

/// No `nodes`: the bound alone.
PassTime schedule_pass(const OperatorOrder& order, const PassCost& cost, const SystolicChip& chip,
                       std::optional<std::int64_t> nodes) {
  const ScheduleProblem alone{order, cost.latency, {chip.tensor_cores, chip.vector_cores}};
  const SharedProblem shared{order, cost.latency, cost.traffic, alone.cores, shared_bandwidth(chip)};
  const bool shares = !cost.traffic.empty();
  if (!nodes) return {shares ? shared_bound(shared).makespan : schedule_bound(alone).makespan};
  if (shares && *nodes > 0) {
    const Schedule best = shared_schedule(shared, {.nodes = *nodes});
    return {best.makespan, best.gap()};
  }
  Schedule found = *nodes == 0 ? list_schedule(alone) : optimal_schedule(alone, {.nodes = *nodes});
  if (shares) {
    Schedule replayed = replay_shared(shared, found);
    if (replayed.bound.makespan < found.bound.makespan) replayed.bound = found.bound;  // more traffic never helps
    found = std::move(replayed);
  }
  return {found.makespan, found.gap()};
}

constexpr std::array kStageLimits{1, 2, 4, 8, 16, 32};

/// Different plans of one problem.
class PlanList {
 public:
  PlanList(const PipelineProblem& problem, const PlacementRules& rules) : problem_(problem), rules_(rules) {}

  void offer(const PlanOutcome& outcome) {
    const auto* found = std::get_if<PipelinePlan>(&outcome);
    if (found == nullptr || std::ranges::any_of(plans_, [&](const PipelinePlan& p) { return same(p, *found); })) return;
    const auto figures = tessera::evaluate(problem_, *found, rules_);
    if (!std::holds_alternative<PlanFigures>(figures)) return;
    plans_.push_back(*found);
    plans_.back().time = std::get<PlanFigures>(figures).time;
  }
  std::vector<PipelinePlan> best(std::size_t count) {
    std::ranges::stable_sort(plans_, {}, [](const PipelinePlan& p) { return p.time.value(); });
    if (plans_.size() > count) plans_.resize(count);
    return std::move(plans_);
  }

 private:
  static bool same(const PipelinePlan& a, const PipelinePlan& b) {
    return a.replicas == b.replicas && a.chunks == b.chunks && a.order == b.order &&
           std::ranges::equal(a.stages, b.stages, [](const PipelineStage& x, const PipelineStage& y) {
             return x.layers == y.layers && x.width == y.width && x.replicas == y.replicas &&
                    x.recompute == y.recompute;
           });
  }

  const PipelineProblem& problem_;
  const PlacementRules rules_;
  std::vector<PipelinePlan> plans_;
};

}  // namespace

struct ChipWorkload::Costs {
  std::vector<std::vector<LayerTimes>> times;
  std::vector<std::vector<Joules>> forward, backward;  // dynamic energy of a device
};

Judgement Judgement::phaze() {
  return {.chip = ChipRules::phaze(), .original_placement = true, .schedule_nodes = kThoroughNodes};
}

Judgement Judgement::phaze_fork() {
  return {.chip = ChipRules::phaze_fork(), .original_placement = true, .schedule_nodes = kThoroughNodes};
}

PlacementRules Judgement::rules() const {
  return original_placement ? PlacementRules::phaze() : planner.rules;
}

ChipWorkload::ChipWorkload(const ChipModel& model, TrainingSystem system, const Judgement& judgement)
    : name_(model.name), micro_batch_(model.micro_batch), system_(std::move(system)), judgement_(judgement) {
  const PipelineProblem measure{.widths = {}, .pools = {}, .network = system_.network};
  for (const WidthLayers& layers : model.widths) {
    const BytesPerSec network = measure.level_of(layers.width).bandwidth;
    Width& width = widths_.emplace_back(Width{layers.width, {}, layers.order, layers.boundary});
    for (const LayerGraph& graph : layers.distinct)
      width.distinct.emplace_back(graph, layers.width, network, judgement_.chip);
  }
}

ChipWorkload::Costs ChipWorkload::costs(const SystolicChip& chip, std::optional<std::int64_t> nodes, bool sums) const {
  Costs result;
  for (const Width& width : widths_) {
    auto& times = result.times.emplace_back();
    auto& forward = result.forward.emplace_back();
    auto& backward = result.backward.emplace_back();
    for (const LayerEstimator& layer : width.distinct) {
      const auto pass = [&](Direction direction, std::vector<Joules>& energy) {
        PassCost cost = layer.cost(chip, direction);
        for (std::size_t i = 0; !sums && i < layer.layer().operators.size(); ++i)
          if (layer.layer().operators[i].summed_forward) cost.latency[i] = {};
        energy.push_back(cost.dynamic_energy);
        return schedule_pass(layer.order(direction), cost, chip, nodes);
      };
      const PassTime f = pass(Direction::forward, forward), b = pass(Direction::backward, backward);
      times.push_back({f.time, b.time, std::max(f.gap, b.gap), forward.back(), backward.back()});
    }
  }
  return result;
}

PipelineProblem ChipWorkload::problem(const std::vector<std::vector<LayerTimes>>& times) const {
  PipelineProblem problem{.widths = {}, .pools = {}, .network = system_.network};
  for (std::size_t w = 0; w < widths_.size(); ++w) {
    const Width& width = widths_[w];
    WidthProfile& profile = problem.widths.emplace_back(WidthProfile{.width = width.width, .layers = {}, .edges = {}});
    for (const int index : width.order) {
      const auto i = static_cast<std::size_t>(index);
      const LayerGraph& graph = width.distinct[i].layer();
      const std::int64_t kept = judgement_.chip.traced_activations ? graph.traced_elements : graph.kept_elements;
      profile.layers.push_back({.forward = times[w][i].forward,
                                .backward = times[w][i].backward,
                                .parameters = static_cast<double>(graph.parameter_elements) * kSystolicWord,
                                .activations = static_cast<double>(kept) * kSystolicWord,
                                .tensor_parallel = width.width > 1});
      const int layer = static_cast<int>(profile.layers.size()) - 1;
      if (layer > 0) profile.edges.push_back({layer - 1, layer, width.boundary});
    }
  }
  problem.pools = {{.name = "chip", .devices = system_.devices, .memory = system_.memory}};
  problem.micro_batches = system_.batch / micro_batch_;
  problem.optimizer = judgement_.original_placement ? PipelineOptimizer::sgd : system_.optimizer;
  problem.zero_stage = system_.zero_stage;
  problem.recomputation = system_.recomputation;
  return problem;
}

double ChipWorkload::samples_per_second(Seconds step) const {
  return static_cast<double>(system_.batch) / step.value();
}

ChipWorkload::Ideal ChipWorkload::ideal(const SystolicChip& chip) const {
  const Costs bounds = costs(chip, {});
  // Every layer of every micro-batch takes `width` devices for its time, at the width where that is least.
  Seconds device_time;
  Joules dynamic;
  for (std::size_t layer = 0; layer < widths_.front().order.size(); ++layer) {
    Seconds least(1e300);
    Joules least_energy(1e300);
    for (std::size_t w = 0; w < widths_.size(); ++w) {
      const auto i = static_cast<std::size_t>(widths_[w].order[layer]);
      const LayerTimes& t = bounds.times[w][i];
      least = min(least, widths_[w].width * (t.forward + t.backward));
      least_energy = min(least_energy, widths_[w].width * (bounds.forward[w][i] + bounds.backward[w][i]));
    }
    device_time += least;
    dynamic += least_energy;
  }
  const double micro_batches = static_cast<double>(system_.batch / micro_batch_);
  const Joules energy = micro_batches * (dynamic + idle_power(chip) * device_time);
  return {samples_per_second(micro_batches * device_time / system_.devices) * (1 + kRounding),
          static_cast<double>(system_.batch) / energy.value() * (1 + kRounding)};
}

PlanOutcome ChipWorkload::place(const PipelineProblem& problem, Seconds cutoff) const {
  if (judgement_.expert) return expert_plan(problem, *judgement_.expert, false, judgement_.rules());
  if (judgement_.original_placement) return solve_phaze(problem);
  PlannerOptions options = judgement_.planner;
  options.cutoff = cutoff;
  return plan_pipeline(problem, options);
}

double ChipWorkload::bound_samples_per_second(const SystolicChip& chip, double least) const {
  const Seconds cutoff(least > 0 ? static_cast<double>(system_.batch) / least * (1 + 2 * kRounding) : 0);
  const PlanOutcome outcome = place(problem(costs(chip, {}).times), cutoff);
  const auto* plan = std::get_if<PipelinePlan>(&outcome);
  return plan == nullptr ? 0 : samples_per_second(plan->time) * (1 + kRounding);
}

ChipResult ChipWorkload::evaluate(const SystolicChip& chip) const {
  Costs found = costs(chip, judgement_.schedule_nodes);
  PlanOutcome outcome = place(problem(found.times));
  return finish(chip, std::move(found), std::move(outcome));
}

ChipResult ChipWorkload::evaluate_expert(const SystolicChip& chip, const ExpertPlan& expert, bool shifted) const {
  Costs found = costs(chip, judgement_.schedule_nodes);
  PlanOutcome outcome = expert_plan(problem(found.times), expert, shifted, judgement_.rules());
  return finish(chip, std::move(found), std::move(outcome));
}

ChipResult ChipWorkload::evaluate_plan(const SystolicChip& chip, const PipelinePlan& plan) const {
  Costs found = costs(chip, judgement_.schedule_nodes);
  auto figures = tessera::evaluate(problem(found.times), plan, judgement_.rules());
  if (auto* none = std::get_if<NoPlan>(&figures)) return finish(chip, std::move(found), std::move(*none));
  PipelinePlan timed = plan;
  timed.time = std::get<PlanFigures>(figures).time;
  return finish(chip, std::move(found), std::move(timed));
}

std::vector<ChipResult> ChipWorkload::best_plans(const SystolicChip& chip, std::size_t count) const {
  const Costs found = costs(chip, judgement_.schedule_nodes);
  const PipelineProblem asked = problem(found.times);
  PlanList plans(asked, judgement_.rules());
  plans.offer(place(asked));
  if (!judgement_.expert && !judgement_.original_placement) {
    PlannerOptions options = judgement_.planner;
    options.interleaving = false;
    plans.offer(plan_pipeline(asked, options));
    options.stage_replicas = false;
    for (const int limit : kStageLimits) {
      options.most_stages = limit;
      plans.offer(plan_pipeline(asked, options));
    }
    options = judgement_.planner;
    options.interleaving = true;
    plans.offer(plan_pipeline(asked, options));
    plans.offer(solve_phaze(asked));
    plans.offer(megatron_plan(asked, options.rules));
    plans.offer(data_parallel_plan(asked, options.rules));
  }
  std::vector<ChipResult> results;
  for (PipelinePlan& plan : plans.best(count)) results.push_back(finish(chip, found, std::move(plan)));
  return results;
}

std::vector<SolvedPass> ChipWorkload::solve_passes(const SystolicChip& chip, int width, const IlpOptions& options,
                                                   std::span<const LinearSolver> installed) const {
  std::vector<SolvedPass> passes;
  for (const LayerEstimator& layer : widths_[width_index(width)].distinct)
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const PassCost cost = layer.cost(chip, direction);
      const ScheduleProblem problem{layer.order(direction), cost.latency, {chip.tensor_cores, chip.vector_cores}};
      passes.push_back({layer.layer().name, direction, optimal_schedule(problem, {.nodes = kThoroughNodes}),
                        ilp_schedule(problem, options, installed)});
    }
  return passes;
}

std::vector<std::vector<LayerTimes>> ChipWorkload::compute_times(const SystolicChip& chip) const {
  return costs(chip, judgement_.schedule_nodes, false).times;
}

std::size_t ChipWorkload::width_index(int width) const {
  const auto found = std::ranges::find(widths_, width, &Width::width);
  TESSERA_ASSERT(found != widths_.end(), "a plan uses the problem's widths");
  return static_cast<std::size_t>(found - widths_.begin());
}

ChipResult ChipWorkload::finish(const SystolicChip& chip, Costs costs, PlanOutcome outcome) const {
  ChipResult result{.layers = std::move(costs.times)};
  if (const auto* none = std::get_if<NoPlan>(&outcome)) {
    result.why = none->why;
    result.short_of = none->short_of;
    return result;
  }
  result.feasible = true;
  result.plan = std::get<PipelinePlan>(std::move(outcome));
  result.step = result.plan.time;
  result.samples_per_second = samples_per_second(result.step);
  for (const auto& width : result.layers)
    for (const LayerTimes& layer : width) result.gap = std::max(result.gap, layer.gap);
  Joules dynamic;
  int devices = 0;
  for (const PipelineStage& stage : result.plan.stages) {
    const std::size_t w = width_index(stage.width);
    devices += stage.width * stage.replicas;
    for (const int layer : stage.layers) {
      const auto i = static_cast<std::size_t>(widths_[w].order[static_cast<std::size_t>(layer)]);
      dynamic += stage.width * ((stage.recompute ? 2.0 : 1.0) * costs.forward[w][i] + costs.backward[w][i]);
    }
  }
  devices = devices / result.plan.chunks * result.plan.replicas;  // chunks share a device
  result.energy = static_cast<double>(system_.batch / micro_batch_) * dynamic +
                  static_cast<double>(devices) * idle_power(chip) * result.step;
  result.power = result.energy / result.step / devices;
  return result;
}

}  // namespace tessera
