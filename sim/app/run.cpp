#include "sim/app/run.hpp"

#include <numeric>
#include <variant>
#include <vector>

#include "models/calibrated_model.hpp"
#include "sim/app/memory_complaint.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/allocations.hpp"
#include "sim/place/policy.hpp"

namespace tessera {
namespace {

Placement place(const RunSpec& spec, const Plan& plan) {
  std::vector<int> free_gpus(static_cast<std::size_t>(spec.cluster.gpus()));
  std::iota(free_gpus.begin(), free_gpus.end(), 0);
  auto result = make_placement_policy(spec.placement)->place(plan, spec.cluster, free_gpus);
  if (const auto* no = std::get_if<Infeasible>(&result)) throw RunError(spec.placement + ": " + no->why);
  return std::get<Placement>(std::move(result));
}

std::vector<Seconds> allocation_times(const Plan& plan, const NodeSpec& node) {
  std::vector<Seconds> times;
  for (const int segments : segments_from_empty(plan)) times.push_back(node.device_malloc * segments);
  return times;
}

}  // namespace

RunResult run(const RunSpec& spec, const LatencyModel& latency) {
  const Graph graph = build_graph(spec.model, spec.build);
  const MemoryFootprint memory = memory_footprint(spec.model, spec.build, graph, spec.parallel);
  if (spec.check_memory && memory.total() > spec.cluster.gpu.memory) throw RunError(memory_complaint(spec, memory));

  RunResult result;
  result.plan = make_plan(graph, spec.parallel);
  const CalibratedModel calibrated(latency, spec.profile ? std::vector{*spec.profile} : std::vector<Profile>());
  result.costs = calibrated.predict(result.plan.kernels, spec.cluster.gpu, spec.context);
  const Placement placement = place(spec, result.plan);
  SimulationOptions options = spec.simulation;
  if (spec.cold_allocator) options.host_work = allocation_times(result.plan, spec.cluster.node);
  result.trace = simulate_isolated({spec.cluster, result.plan, result.costs, placement, options});
  result.summary = summarize(
      {spec.scenario, spec.name, graph, spec.build, spec.cluster, result.plan, result.costs, result.trace, memory});
  return result;
}

}  // namespace tessera
