#include "sim/app/search/replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/place/chip/chip_platform.hpp"
#include "sim/place/chip/economics.hpp"

namespace tessera {
namespace {

constexpr double kShown = 0.005;  // parts of the step that are named

/// Why the event loop cannot run it; empty: it can.
std::string obstacle(const PipelinePlan& plan) {
  const PipelineStage& first = plan.stages.front();
  for (const PipelineStage& stage : plan.stages) {
    if (stage.width != first.width) return "stages of different tensor widths do not run in the event loop";
  }
  return "";
}

std::int64_t micro_batches_of(const PlannedChip& p) {
  const std::int64_t all = p.scenario.system.batch / p.costs.micro_batch();
  return (all + p.result.plan.replicas - 1) / p.result.plan.replicas;
}

/// Of one replica, each with its chunks.
int devices_of(const PipelinePlan& plan) {
  return static_cast<int>(plan.stages.size()) / plan.chunks;
}

ParallelSpec parallel_of(const PlannedChip& p, std::int64_t blocks) {
  const PipelinePlan& plan = p.result.plan;
  ParallelSpec spec{.tp = plan.stages.front().width,
                    .dp = plan.replicas,
                    .pp = devices_of(plan),
                    .micro_batches = micro_batches_of(p)};
  spec.chunks = plan.chunks;
  if (spec.pp == 1) return spec;
  if (std::ranges::any_of(plan.stages, [](const PipelineStage& stage) { return stage.replicas > 1; }))
    for (const PipelineStage& stage : plan.stages) spec.stage_replicas.push_back(stage.replicas);
  for (const PipelineStage& stage : plan.stages)  // layer 0 is the embedding, the one after the blocks the head
    spec.stage_layers.push_back(static_cast<int>(
        std::ranges::count_if(stage.layers, [&](int layer) { return layer >= 1 && layer <= blocks; })));
  return spec;
}

SectionTimes sections_of(const PlannedChip& p, const ModelConfig& model) {
  const int width = p.result.plan.stages.front().width;
  const std::vector<LayerTimes> times = p.costs.compute_times(p.chip)[p.costs.width_index(width)];
  const std::vector<int> order = p.costs.layer_order(width);
  const auto of = [&](int distinct) {
    const LayerTimes& t = times[static_cast<std::size_t>(distinct)];
    return SectionTime{t.forward, t.backward, t.forward_energy + idle_power(p.chip) * t.forward,
                       t.backward_energy + idle_power(p.chip) * t.backward};
  };
  SectionTimes sections;
  sections.model = model.name;
  sections.sequence = p.workload.sequence;
  sections.micro_batch = p.costs.micro_batch();
  sections.tp = width;
  sections.embedding = of(order.front());
  sections.block = of(order[1]);
  sections.head = of(order.back());
  for (int device = 0; device < devices_of(p.result.plan); ++device)  // its chunks are alike
    if (p.result.plan.stages[static_cast<std::size_t>(device)].recompute) sections.recomputed_stages.push_back(device);
  sections.source = fmt::format("tessera search: operator schedules of {}", describe(p.chip));
  return sections;
}

/// The busiest device by the analytical cost.
StepParts expected_parts(const PlannedChip& p) {
  const PipelinePlan& plan = p.result.plan;
  const PlacementRules rules = p.costs.rules();
  const auto figures = std::get<PlanFigures>(evaluate(p.costs.problem(p.result.layers), plan, rules));
  const auto times = p.costs.compute_times(p.chip);
  StepParts parts{};
  const auto devices = static_cast<std::size_t>(devices_of(plan));
  for (std::size_t device = 0; device < devices; ++device) {
    Seconds one, load, sync;
    for (std::size_t s = device; s < plan.stages.size(); s += devices) {
      const std::size_t width = p.costs.width_index(plan.stages[s].width);
      const std::vector<int> order = p.costs.layer_order(plan.stages[s].width);
      for (const int layer : plan.stages[s].layers) {
        const LayerTimes& t = times[width][static_cast<std::size_t>(order[static_cast<std::size_t>(layer)])];
        one += t.forward * (plan.stages[s].recompute ? 2.0 : 1.0) + t.backward;
      }
      load += figures.stages[s].load;
      sync += figures.stages[s].sync;
    }
    const std::int64_t replicas = plan.stages[device].replicas;
    const double rounds = static_cast<double>((micro_batches_of(p) + replicas - 1) / replicas);
    if (one * rounds <= parts.compute) continue;
    parts.compute = one * rounds;
    parts.transfers = max(Seconds(), load - one) * rounds + sync;
  }
  parts.idle = max(Seconds(), figures.time - parts.compute - parts.transfers);
  return parts;
}

/// On the device that computes the most.
Seconds optimizer_time(const RunResult& run) {
  Seconds busiest, result;
  for (int program = 0; program < run.plan.spec.programs(); ++program) {
    Seconds all, optimizer;
    for (std::size_t t = run.plan.program_begin(program); t < run.plan.program_end(program); ++t) {
      const auto* kernel = std::get_if<KernelId>(&run.plan.tasks[t].work);
      if (kernel == nullptr) continue;
      const Seconds time = run.costs[static_cast<std::size_t>(*kernel)].time.p50;
      all += time;
      if (run.plan.tasks[t].phase == Phase::optimizer) optimizer += time;
    }
    if (all <= busiest) continue;
    busiest = all;
    result = optimizer;
  }
  return result;
}

}  // namespace

std::string Replay::difference() const {
  struct Part {
    std::string_view name;
    double ratio;
  };
  const auto ratio = [&](Seconds from, Seconds to) { return (to - from) / expected.step(); };
  std::array<Part, 4> parts{Part{"compute", ratio(expected.compute + optimizer, seen.compute)},
                            {"optimizer", ratio(Seconds(), optimizer)},
                            {"transfers", ratio(expected.transfers, seen.transfers)},
                            {"idle", ratio(expected.idle, seen.idle)}};
  const double all = ratio(expected.step(), seen.step());
  std::ranges::stable_sort(parts, std::greater(), [](const Part& p) { return std::abs(p.ratio); });
  std::string text = std::abs(all) < kShown
                         ? std::string("the same")
                         : fmt::format("{:.1f} % {}", 100 * std::abs(all), all > 0 ? "slower" : "faster");
  std::string_view separator = ": ";
  for (const Part& part : parts) {
    if (std::abs(part.ratio) < kShown) break;
    text += fmt::format("{}{} {:+.1f} %", separator, part.name, 100 * part.ratio);
    separator = ", ";
  }
  return text;
}

PlannedChip planned_chip(const SearchScenario& scenario, const ChipStudy& study, const StudiedChip& studied,
                         std::size_t index) {
  const StudiedChip::PerWorkload& of = studied.workloads[index];
  return {scenario, scenario.workloads[index], study.workloads()[index].choices[of.choice], studied.chip, of.result};
}

std::variant<RunSpec, std::string> replay_spec(const PlannedChip& p) {
  if (std::string why = obstacle(p.result.plan); !why.empty()) return why;
  RunSpec spec;
  spec.scenario = p.scenario.name;
  spec.name = "best";
  spec.model = find_model(p.workload.model);
  const auto cluster =
      chip_cluster(to_spec(p.chip, p.scenario.system.memory), p.scenario.system.devices, p.costs.system().network);
  if (const auto* why = std::get_if<std::string>(&cluster)) return *why;
  spec.cluster = std::get<ClusterSpec>(cluster);
  spec.build = {.mode = Mode::training,
                .batch = p.costs.micro_batch(),
                .sequence = p.workload.sequence,
                .dtype = Dtype::bf16,
                .attention = AttentionKind::eager,
                .optimizer = OptimizerKind::adam,
                .accumulate = true};
  spec.parallel = parallel_of(p, spec.model.layers);
  spec.simulation = {.fidelity = Fidelity::kernel, .cuda_graph = true, .record_spans = false};
  spec.sections = sections_of(p, spec.model);
  spec.check_memory = false;  // the search's own memory decided
  return spec;
}

Replay replay(const PlannedChip& p) {
  Replay result;
  if (!p.result.feasible) {
    result.why = p.result.why;
    return result;
  }
  const auto spec = replay_spec(p);
  if (const auto* why = std::get_if<std::string>(&spec)) {
    result.why = *why;
    return result;
  }
  const RunResult run = tessera::run(std::get<RunSpec>(spec), *make_latency_model("roofline"));
  const Summary& s = run.summary;
  const double samples = static_cast<double>(p.scenario.system.batch);
  result.ran = true;
  result.expected = expected_parts(p);
  result.seen = {s.compute, s.exposed_communication, s.idle};
  result.optimizer = optimizer_time(run);
  result.expected_rate = p.result.samples_per_second;
  result.seen_rate = samples / run.trace.makespan.value();
  result.memory = s.memory.total();
  result.power = s.energy.total.p50 / run.trace.makespan / run.plan.spec.world_size();
  return result;
}

std::vector<PlanReplay> replay_plans(const SearchScenario& scenario, const ChipStudy& study, const SystolicChip& chip,
                                     std::size_t workload, std::size_t count) {
  const StudyWorkload& of = study.workloads()[workload];
  std::vector<PlanReplay> plans;
  for (std::size_t c = 0; c < of.choices.size(); ++c)
    for (ChipResult& result : of.choices[c].best_plans(chip, count)) plans.push_back({c, 0, std::move(result), {}});
  std::ranges::stable_sort(plans, std::greater(), [](const PlanReplay& p) { return p.result.samples_per_second; });
  if (plans.size() > count) plans.resize(count);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].rank = i + 1;
    plans[i].replay =
        replay({scenario, scenario.workloads[workload], of.choices[plans[i].choice], chip, plans[i].result});
  }
  std::ranges::stable_sort(plans, std::greater(), [](const PlanReplay& p) { return p.replay.seen_rate; });
  return plans;
}

}  // namespace tessera
