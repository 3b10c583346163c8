#include "sim/place/job_plan.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "models/collectives/ring.hpp"
#include "models/memory_footprint.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/tensor_parallel.hpp"
#include "sim/place/tensor_groups.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kLargestMicroBatch = 1024;

BuildOptions of_size(BuildOptions build, std::int64_t micro_batch) {
  build.batch = micro_batch;
  return build;
}

Bytes component(const MemoryFootprint& memory, std::string_view name) {
  const auto found = std::ranges::find(memory.components, name, &MemoryComponent::name);
  return found == memory.components.end() ? Bytes(0) : found->size;
}

/// The job at one tensor width on one replica.
class WidthBuilder {
 public:
  WidthBuilder(const Job& job, const ClusterSpec& cluster, int width, std::int64_t micro_batch)
      : job_(job),
        build_(of_size(job.build, micro_batch)),
        cluster_(cluster),
        graph_(build_graph(job.model, build_)),
        spec_{.tp = width} {
    const auto layers = static_cast<int>(job.model.layers);
    profile_.width = width;
    profile_.layers.resize(static_cast<std::size_t>(layers));
    for (LayerCost& layer : profile_.layers) layer.tensor_parallel = width > 1;
    for (int i = 0; i + 1 < layers; ++i) profile_.edges.push_back({i, i + 1, graph_.hidden_states});
    // With one layer to each stage, the stage of an operator is its layer.
    stages_ = assign_stages(graph_, layers, {});
  }

  WidthProfile profile() {
    add_times();
    add_memory();
    return std::move(profile_);
  }
  /// What a GPU holds whatever its layers are.
  [[nodiscard]] Bytes context() const {
    return component(memory_footprint(job_.model, build_, graph_, {.tp = spec_.tp, .dp = 2}), "context");
  }

 private:
  LayerCost& layer_of(std::size_t op) { return profile_.layers[static_cast<std::size_t>(stages_.of_operator[op])]; }

  void add_times() {
    const TensorParallel tensor(graph_, spec_);
    std::vector<Kernel> kernels;  // distinct
    std::unordered_map<Kernel, std::size_t, KernelHash> index;
    std::vector<std::size_t> kernel_of;
    for (const Operator& op : graph_.operators) {
      const auto [at, fresh] = index.try_emplace(tensor.local(op), kernels.size());
      if (fresh) kernels.push_back(at->first);
      kernel_of.push_back(at->second);
    }
    const CostTable costs = job_.latency.predict(kernels, cluster_.gpu, job_.context);
    const BytesPerSec link = cluster_.node.gpu_link * job_.collective_payload;
    for (std::size_t i = 0; i < kernel_of.size(); ++i) {
      const Operator& op = graph_.operators[i];
      if (op.phase == Phase::optimizer) continue;
      Seconds time = costs[kernel_of[i]].time.p50;
      if (spec_.tp > 1 && op.reduced_over_tp > Bytes(0))
        time +=
            ring_time(CollectiveKind::all_reduce, spec_.tp, op.reduced_over_tp, link, cluster_.node.gpu_link_latency);
      (op.phase == Phase::forward ? layer_of(i).forward : layer_of(i).backward) += time;
    }
  }

  void add_memory() {
    const TensorParallel tensor(graph_, spec_);
    for (std::size_t p = 0; p < graph_.parameters.size(); ++p) {
      LayerCost& layer = profile_.layers[static_cast<std::size_t>(stages_.of_parameter[p])];
      layer.parameters += static_cast<double>(tensor.local_elements(graph_.parameters[p])) * element_size(build_.dtype);
    }
    const MemoryFootprint memory = memory_footprint(job_.model, build_, graph_, spec_);
    const Bytes kept = component(memory, "activations") + component(memory, "kv cache");
    for (LayerCost& layer : profile_.layers) layer.activations = kept / static_cast<double>(profile_.layers.size());
    profile_.layers.back().activations += component(memory, "buffers");
  }

  const Job& job_;
  BuildOptions build_;
  const ClusterSpec& cluster_;
  Graph graph_;
  ParallelSpec spec_;
  StageMap stages_;
  WidthProfile profile_;
};

std::vector<NetworkLevel> network_of(const Job& job, const ClusterSpec& cluster, int devices) {
  const NodeSpec& node = cluster.node;
  std::vector<NetworkLevel> levels;
  if (node.gpus > 1) levels.push_back({node.gpus, node.gpu_link * job.collective_payload, node.gpu_link_latency});
  const BytesPerSec port = node.port_bandwidth() * (static_cast<double>(node.ports()) / node.gpus);
  if (cluster.nodes > 1 && devices > node.gpus && port > BytesPerSec(0))
    levels.push_back({devices, port * job.collective_payload, 2.0 * node.nic_latency + cluster.fabric.hop_latency});
  if (levels.empty()) levels.push_back({1, cluster.gpu.memory_bandwidth, Seconds(0)});  // one GPU: nothing is sent
  return levels;
}

}  // namespace

PipelineProblem job_problem(const Job& job, const ClusterSpec& cluster, int devices, std::int64_t micro_batch) {
  PipelineProblem problem;
  Bytes context;
  for (int width = 1; width <= std::min(devices, cluster.node.gpus); width *= 2) {
    if (job.model.heads % width != 0 || job.model.kv_heads % width != 0) break;
    WidthBuilder builder(job, cluster, width, micro_batch);
    context = max(context, builder.context());
    problem.widths.push_back(builder.profile());
  }
  problem.pools = {{cluster.gpu.name, devices, max(Bytes(0), cluster.gpu.memory - context)}};
  problem.network = network_of(job, cluster, devices);
  problem.training = job.build.mode == Mode::training;
  problem.micro_batches = job.samples() / micro_batch;
  problem.parameter_element = element_size(job.build.dtype);
  problem.optimizer = job.build.optimizer == OptimizerKind::adam ? PipelineOptimizer::adam : PipelineOptimizer::sgd;
  return problem;
}

std::vector<std::int64_t> micro_batch_sizes(const Job& job) {
  if (!job.chooses_micro_batch) return {job.build.batch};
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= std::min(job.samples(), kLargestMicroBatch); ++size)
    if (job.samples() % size == 0) sizes.push_back(size);
  return sizes;
}

JobChoiceResult with_replicas(ParallelSpec spec, const Job& job, int free_gpus, std::int64_t micro_batch) {
  const std::int64_t all = job.samples() / micro_batch, each = std::int64_t{spec.tp} * spec.programs();
  std::int64_t dp = std::min<std::int64_t>(free_gpus / each, all);
  while (dp > 1 && all % dp != 0) --dp;
  if (dp < 1)
    return Infeasible{fmt::format("tp {} x pp {} needs {} GPUs, {} are free", spec.tp, spec.pp, each, free_gpus)};
  spec.dp = static_cast<int>(dp);
  spec.micro_batches = all / dp;
  return JobChoice{spec, micro_batch};
}

JobChoiceResult best_choice(const Job& job, const ClusterSpec& cluster, int devices, const PlanSolver& solve,
                            const PlacementRules& rules) {
  std::optional<PipelinePlan> best;
  std::int64_t size_of_best = 1;
  std::string why;
  for (const std::int64_t size : micro_batch_sizes(job)) {
    const PipelineProblem problem = job_problem(job, cluster, devices, size);
    const PlanOutcome outcome = solve(problem);
    if (const auto* none = std::get_if<NoPlan>(&outcome)) {
      if (why.empty()) why = none->why;  // of the smallest, which needs the least memory
      continue;
    }
    auto plan = std::get<PipelinePlan>(outcome);
    while (problem.micro_batches % plan.replicas != 0) --plan.replicas;
    const auto figures = evaluate(problem, plan, rules);
    const auto* timed = std::get_if<PlanFigures>(&figures);
    if (timed == nullptr || (best && timed->time >= best->time)) continue;
    plan.time = timed->time;
    best = std::move(plan);
    size_of_best = size;
  }
  if (!best) return Infeasible{why};
  ParallelSpec spec = job.asked;
  spec.tp = best->stages.front().width;
  spec.pp = static_cast<int>(best->stages.size());
  spec.stage_layers.clear();
  for (const PipelineStage& stage : best->stages) spec.stage_layers.push_back(static_cast<int>(stage.layers.size()));
  return with_replicas(spec, job, spec.tp * spec.pp * best->replicas, size_of_best);
}

PlacementResult ChoosingPolicy::place(const Plan& plan, const ClusterSpec& cluster,
                                      std::span<const int> free_gpus) const {
  return packed_placement(plan.spec, cluster, free_gpus);
}

}  // namespace tessera
