#include "sim/graph/rank_operators.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

void require_positive(std::string_view what, std::int64_t count) {
  if (count < 1) throw RunError(fmt::format("{} is {}, expected 1 or more", what, count));
}

void check_experts(const Graph& graph, const ParallelSpec& spec) {
  if (spec.ep == 1) return;
  if (graph.experts == 0) throw RunError(fmt::format("ep {}: {} has no experts", spec.ep, graph.model));
  if (graph.experts % spec.ep != 0)
    throw RunError(fmt::format("ep {} does not divide the {} experts of {}", spec.ep, graph.experts, graph.model));
  if (spec.dp % spec.ep != 0) throw RunError(fmt::format("ep {} does not divide dp {}", spec.ep, spec.dp));
}

void check_stage_replicas(const ParallelSpec& spec) {
  const std::vector<int>& counts = spec.stage_replicas;
  if (counts.empty()) return;
  const auto wrong = [&](int count) { return count < 1 || count > spec.micro_batches; };
  if (static_cast<int>(counts.size()) != spec.pp || std::ranges::any_of(counts, wrong))
    throw RunError(fmt::format("stage_replicas [{}] are no {} counts of 1 to {}, the micro-batches",
                               fmt::join(counts, ", "), spec.pp, spec.micro_batches));
  if (spec.chunks > 1 || spec.schedule != PipelineSchedule::one_f_one_b || spec.sharding != Sharding::none)
    throw RunError("stage_replicas: replicas of a stage take turns under plain 1F1B, without chunks and sharding");
}

void check(const Graph& graph, const ParallelSpec& spec) {
  require_positive("dp", spec.dp);
  require_positive("cp", spec.cp);
  require_positive("ep", spec.ep);
  require_positive("chunks", spec.chunks);
  if (spec.chunks > 1 && spec.pp == 1)
    throw RunError(fmt::format("chunks {}: pp is 1, and only a pipeline of 2 GPUs or more interleaves", spec.chunks));
  require_positive("micro_batches", spec.micro_batches);
  check_experts(graph, spec);
  check_stage_replicas(spec);
  if (!(spec.bucket > Bytes(0)))
    throw RunError(fmt::format("the bucket has {} B, expected more than 0", spec.bucket.value()));
  if (!(spec.expert_load >= 1)) throw RunError(fmt::format("expert_load is {}, expected 1 or more", spec.expert_load));
  const double tasks = static_cast<double>(graph.operators.size()) * static_cast<double>(spec.micro_batches);
  if (tasks > kMostTasks) {
    throw RunError(fmt::format("{} micro-batches of {} kernels are more than the {:.0f} tasks that a plan may have",
                               spec.micro_batches, graph.operators.size(), kMostTasks));
  }
}

}  // namespace

RankOperators::RankOperators(const Graph& graph, const ParallelSpec& spec)
    : graph_(graph), spec_(spec), tensor_(graph, spec) {
  check(graph, spec);
  const StageMap map = assign_stages(graph, spec.stages(), spec.stage_layers);
  operators_.reserve(graph.operators.size());
  for (std::size_t i = 0; i < graph.operators.size(); ++i)
    operators_.push_back(local(graph.operators[i], spec.replicas_of(map.of_operator[i] % spec.pp)));
  sort(map);
}

KernelId RankOperators::kernel_id(const Kernel& kernel) {
  const auto [id, added] = ids_.try_emplace(kernel, static_cast<KernelId>(kernels_.size()));
  if (added) kernels_.push_back(kernel);
  return id->second;
}

std::int64_t RankOperators::local_elements(ParameterId parameter) const {
  return tensor_.local_elements(graph_.parameters[static_cast<std::size_t>(parameter)]);
}

Bytes RankOperators::bytes_of(ParameterId parameter) const {
  return static_cast<double>(local_elements(parameter)) * element_size(spec_.reduced_as.value_or(graph_.dtype));
}

/// Sharded state is stepped by the rank that has it.
KernelId RankOperators::optimizer_kernel(std::int64_t elements) {
  const std::int64_t parts = spec_.sharding == Sharding::none ? 1 : std::int64_t{spec_.dp} * spec_.cp;
  return kernel_id({Op::optimizer, graph_.dtype, VectorShape{1, (elements + parts - 1) / parts}});
}

RankOperator RankOperators::local(const Operator& op, int stage_replicas) {
  const Kernel kernel = tensor_.local(op);
  RankOperator result{.kernel = op.phase == Phase::optimizer ? optimizer_kernel(std::get<VectorShape>(kernel.shape).h)
                                                             : kernel_id(kernel),
                      .split = op.split != Split::none};
  if (spec_.tp > 1) {
    result.sum = op.reduced_over_tp;
    result.hidden_sum = op.reduced_over_tp == graph_.hidden_states;
  }
  if (spec_.cp > 1) result.passed = tensor_.shared(op.passed_over_cp, op);
  if (spec_.ep > 1) result.routed = op.routed_over_ep * spec_.expert_load;
  if (op.gradient_of == kNoParameter) return result;
  result.expert_gradient = spec_.ep > 1 && graph_.parameters[static_cast<std::size_t>(op.gradient_of)].expert;
  const int sharers = stage_replicas * spec_.dp * spec_.cp / (result.expert_gradient ? spec_.ep : 1);
  if (sharers > 1) result.gradient = bytes_of(op.gradient_of);
  return result;
}

void RankOperators::sort(const StageMap& map) {
  stages_.resize(static_cast<std::size_t>(spec_.stages()));
  for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
    StageOperators& stage = stages_[static_cast<std::size_t>(map.of_operator[i])];
    const Operator& op = graph_.operators[i];
    auto& list = op.phase == Phase::forward     ? stage.forward
                 : op.phase == Phase::optimizer ? stage.optimizer
                                                : stage.backward;
    list.push_back(i);
    if (op.phase == Phase::forward) stage.forward_of_layer[op.layer].push_back(i);
  }
  for (std::size_t p = 0; p < graph_.parameters.size(); ++p) {
    StageOperators& stage = stages_[static_cast<std::size_t>(map.of_parameter[p])];
    const Parameter& parameter = graph_.parameters[p];
    auto& sum = parameter.expert && spec_.ep > 1 ? stage.experts : stage.parameters;
    sum[parameter.layer] += static_cast<double>(tensor_.local_elements(parameter)) * element_size(graph_.dtype);
  }
}

}  // namespace tessera
