#include "sim/app/run.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "models/calibrated_model.hpp"
#include "sim/app/collectives_section.hpp"
#include "sim/app/memory_complaint.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/allocations.hpp"
#include "sim/place/policy.hpp"

namespace tessera {
namespace {

/// A job arrives at an idle cluster: every GPU is free, and it may choose how to use as many as the scenario gives it.
class Arrival {
 public:
  explicit Arrival(const RunSpec& spec)
      : spec_(spec),
        policy_(make_placement_policy(spec.placement)),
        free_(static_cast<std::size_t>(spec.cluster.gpus())) {
    std::iota(free_.begin(), free_.end(), 0);
  }
  [[nodiscard]] RunSpec chosen(const LatencyModel& latency) const {
    const Job job{
        spec_.model,           spec_.build, spec_.parallel, latency, spec_.context, spec_.simulation.collective_payload,
        spec_.free_micro_batch};
    const int given = spec_.gpus > 0 ? spec_.gpus : spec_.parallel.world_size();
    const auto used = std::min(free_.size(), static_cast<std::size_t>(given));
    const JobChoice choice = accepted(policy_->parallelism(job, spec_.cluster, std::span(free_).first(used)));
    RunSpec spec = spec_;
    spec.parallel = choice.parallel;
    spec.build.batch = choice.micro_batch;
    return spec;
  }
  [[nodiscard]] Placement place(const Plan& plan) const { return accepted(policy_->place(plan, spec_.cluster, free_)); }

 private:
  template <class Result>
  [[nodiscard]] Result accepted(std::variant<Result, Infeasible> result) const {
    if (const auto* no = std::get_if<Infeasible>(&result)) throw RunError(spec_.placement + ": " + no->why);
    return std::get<Result>(std::move(result));
  }

  const RunSpec& spec_;
  std::unique_ptr<PlacementPolicy> policy_;
  std::vector<int> free_;
};

std::vector<Seconds> allocation_times(const Plan& plan, const NodeSpec& node) {
  std::vector<Seconds> times;
  for (const int segments : segments_from_empty(plan)) times.push_back(node.device_malloc * segments);
  return times;
}

/// The sections' times are of one tensor width.
void stretch(const RunSpec& spec, RunResult& result) {
  if (spec.sections->tp != spec.parallel.tp)
    throw RunError(fmt::format("section_times are of tp {}, the run has tp {}", spec.sections->tp, spec.parallel.tp));
  apply(*spec.sections, result.plan, result.costs);
}

/// sim/des/folding.cpp decides.
std::string folding_in_words(const RunSpec& spec, const Trace& trace) {
  const ParallelSpec& parallel = spec.parallel;
  const int alike = parallel.ranks_per_program();
  if (parallel.world_size() == 1) return "none, there is one GPU";
  if (alike == 1) return "none, every rank is a pipeline stage of its own";
  if (trace.folded > 1)
    return fmt::format(
        "{} ranks are simulated as {}: the {} ranks (tp x cp x dp) of a stage run one program on GPUs that are alike. "
        "A link that m of their flows share has 1/m of its capacity for the one that stands for them",
        parallel.world_size(), trace.gpus.size(), trace.folded);
  if (spec.simulation.fold == Fold::off) return "none, the scenario says fold: off";
  return fmt::format("none, the {} ranks of a stage are not alike: their GPUs or nodes differ", alike);
}

}  // namespace

RunSpec chosen(const RunSpec& spec, const LatencyModel& latency) {
  return Arrival(spec).chosen(latency);
}

RunResult run(const RunSpec& asked, const LatencyModel& latency) {
  const CalibratedModel calibrated(latency, asked.profile ? std::vector{*asked.profile} : std::vector<Profile>());
  const Arrival arrival(asked);
  const RunSpec spec = arrival.chosen(calibrated);
  const Graph graph = build_graph(spec.model, spec.build);
  const MemoryFootprint memory = memory_footprint(spec.model, spec.build, graph, spec.parallel);
  if (spec.check_memory && memory.total() > spec.cluster.gpu.memory) throw RunError(memory_complaint(spec, memory));

  RunResult result;
  result.plan = make_plan(graph, spec.parallel);
  check_own_collectives(spec.simulation.own_collectives, result.plan);
  result.costs = calibrated.predict(result.plan.kernels, spec.cluster.gpu, spec.context);
  use_flash_generation(spec.flash, spec.cluster.gpu, result.plan.kernels, result.costs);
  if (spec.sections) stretch(spec, result);
  const Placement placement = arrival.place(result.plan);
  SimulationOptions options = spec.simulation;
  if (spec.cold_allocator) options.host_work = allocation_times(result.plan, spec.cluster.node);
  result.trace = simulate_isolated({spec.cluster, result.plan, result.costs, placement, options});
  result.summary = summarize(
      {spec.scenario, spec.name, graph, spec.build, spec.cluster, result.plan, result.costs, result.trace, memory});
  result.summary.folding = folding_in_words(spec, result.trace);
  return result;
}

}  // namespace tessera
