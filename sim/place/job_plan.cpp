#include "sim/place/job_plan.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "models/collectives/ring.hpp"
#include "models/memory_footprint.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/tensor_parallel.hpp"
#include "sim/place/tensor_groups.hpp"

namespace tessera {
namespace {

std::int64_t micro_batches_of(const Job& job) {
  return job.asked.micro_batches * job.asked.dp;
}

Bytes component(const MemoryFootprint& memory, std::string_view name) {
  const auto found = std::ranges::find(memory.components, name, &MemoryComponent::name);
  return found == memory.components.end() ? Bytes(0) : found->size;
}

/// The job at one tensor width on one replica.
class WidthBuilder {
 public:
  WidthBuilder(const Job& job, const ClusterSpec& cluster, int width)
      : job_(job), cluster_(cluster), graph_(build_graph(job.model, job.build)), spec_{.tp = width} {
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
    return component(memory_footprint(job_.model, job_.build, graph_, {.tp = spec_.tp, .dp = 2}), "context");
  }

 private:
  LayerCost& layer_of(std::size_t op) { return profile_.layers[static_cast<std::size_t>(stages_.of_operator[op])]; }

  void add_times() {
    const TensorParallel tensor(graph_, spec_);
    std::vector<Kernel> kernels;
    for (const Operator& op : graph_.operators) kernels.push_back(tensor.local(op));
    const CostTable costs = job_.latency.predict(kernels, cluster_.gpu, job_.context);
    const BytesPerSec link = cluster_.node.gpu_link * job_.collective_payload;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const Operator& op = graph_.operators[i];
      if (op.phase == Phase::optimizer) continue;
      Seconds time = costs[i].time.p50;
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
      layer.parameters +=
          static_cast<double>(tensor.local_elements(graph_.parameters[p])) * element_size(job_.build.dtype);
    }
    const MemoryFootprint memory = memory_footprint(job_.model, job_.build, graph_, spec_);
    const Bytes kept = component(memory, "activations") + component(memory, "kv cache");
    for (LayerCost& layer : profile_.layers) layer.activations = kept / static_cast<double>(profile_.layers.size());
    profile_.layers.back().activations += component(memory, "buffers");
  }

  const Job& job_;
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

PipelineProblem job_problem(const Job& job, const ClusterSpec& cluster, int devices) {
  PipelineProblem problem;
  Bytes context;
  for (int width = 1; width <= std::min(devices, cluster.node.gpus); width *= 2) {
    if (job.model.heads % width != 0 || job.model.kv_heads % width != 0) break;
    WidthBuilder builder(job, cluster, width);
    context = max(context, builder.context());
    problem.widths.push_back(builder.profile());
  }
  problem.pools = {{cluster.gpu.name, devices, max(Bytes(0), cluster.gpu.memory - context)}};
  problem.network = network_of(job, cluster, devices);
  problem.training = job.build.mode == Mode::training;
  problem.micro_batches = micro_batches_of(job);
  problem.parameter_element = element_size(job.build.dtype);
  problem.optimizer = job.build.optimizer == OptimizerKind::adam ? PipelineOptimizer::adam : PipelineOptimizer::sgd;
  return problem;
}

ParallelismResult with_replicas(ParallelSpec spec, const Job& job, int free_gpus) {
  const std::int64_t batch = micro_batches_of(job);
  std::int64_t dp = std::min<std::int64_t>(free_gpus / (std::int64_t{spec.tp} * spec.pp), batch);
  while (dp > 1 && batch % dp != 0) --dp;
  if (dp < 1)
    return Infeasible{fmt::format("tp {} x pp {} needs {} GPUs, {} are free", spec.tp, spec.pp,
                                  std::int64_t{spec.tp} * spec.pp, free_gpus)};
  spec.dp = static_cast<int>(dp);
  spec.micro_batches = batch / dp;
  return spec;
}

ParallelismResult parallelism_of(const PlanOutcome& outcome, const Job& job) {
  if (const auto* none = std::get_if<NoPlan>(&outcome)) return Infeasible{none->why};
  const auto& plan = std::get<PipelinePlan>(outcome);
  ParallelSpec spec = job.asked;
  spec.tp = plan.stages.front().width;
  spec.pp = static_cast<int>(plan.stages.size());
  spec.stage_layers.clear();
  for (const PipelineStage& stage : plan.stages) spec.stage_layers.push_back(static_cast<int>(stage.layers.size()));
  return with_replicas(spec, job, spec.tp * spec.pp * plan.replicas);
}

PlacementResult ChoosingPolicy::place(const Plan& plan, const ClusterSpec& cluster,
                                      std::span<const int> free_gpus) const {
  return packed_placement(plan.spec, cluster, free_gpus);
}

}  // namespace tessera
