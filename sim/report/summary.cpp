#include "sim/report/summary.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "sim/base/error.hpp"
#include "sim/report/error_bar.hpp"

namespace tessera {
namespace {

/// Provenance of a part that takes less of the compute time than this does not decide the whole's.
constexpr double kNegligibleShare = 0.01;

void add(Estimate<Seconds>& sum, const Estimate<Seconds>& part) {
  sum.p10 += part.p10;
  sum.p50 += part.p50;
  sum.p90 += part.p90;
}

/// Kernels by the model's price, collectives by what the simulation saw; calls of one name are wrong together.
std::vector<OperatorShare> operator_shares(const SummaryInput& input) {
  const auto lasted = task_durations(input.plan, input.trace);
  std::map<std::string, OperatorShare> by_name;
  for (std::size_t i = 0; i < input.plan.tasks.size(); ++i) {
    const Task& task = input.plan.tasks[i];
    OperatorShare& share = by_name[task_name(input.plan, task)];
    if (share.calls++ == 0) share.provenance = Provenance::measured;
    if (const auto* id = std::get_if<KernelId>(&task.work)) {
      const KernelCost& cost = input.costs[static_cast<std::size_t>(*id)];
      add(share.time, cost.time);
      share.provenance = std::max(share.provenance, cost.provenance);
    } else {
      add(share.time, {lasted[i] * (1 - kCommunicationLow), lasted[i], lasted[i] * (1 + kCommunicationHigh)});
      share.provenance = std::max(share.provenance, Provenance::closed_form);
    }
  }
  std::vector<OperatorShare> shares;
  for (auto& [name, share] : by_name) {
    share.name = name;
    share.share_ratio = share.time.p50 / input.trace.makespan / input.plan.spec.programs();
    shares.push_back(std::move(share));
  }
  std::ranges::stable_sort(shares, [](const auto& a, const auto& b) { return a.time.p50 > b.time.p50; });
  return shares;
}

void set_time_split(Summary& s, const Trace& trace) {
  const GpuUse* busiest = nullptr;
  for (const GpuUse& gpu : trace.gpus)
    if (busiest == nullptr || gpu.compute_busy > busiest->compute_busy) busiest = &gpu;
  TESSERA_ASSERT(busiest != nullptr, "a simulation has at least one GPU");
  s.compute = busiest->compute_busy;
  s.exposed_communication = busiest->exposed_communication;
  s.idle = busiest->idle;
}

void set_provenance(Summary& s, const Plan& plan, const CostTable& costs) {
  std::array<Seconds, kProvenanceCount> by_provenance{};
  Seconds total;
  for (const Task& task : plan.tasks) {
    const auto* id = std::get_if<KernelId>(&task.work);
    if (id == nullptr) continue;
    const KernelCost& cost = costs[static_cast<std::size_t>(*id)];
    by_provenance[static_cast<std::size_t>(cost.provenance)] += cost.time.p50;
    total += cost.time.p50;
  }
  s.provenance = Provenance::measured;
  for (std::size_t i = 0; i < by_provenance.size(); ++i)
    if (by_provenance[i] > kNegligibleShare * total) s.provenance = static_cast<Provenance>(i);
  const Seconds outside = by_provenance[static_cast<std::size_t>(Provenance::extrapolated)];
  s.extrapolated_ratio = total > Seconds() ? outside / total : 0;
}

/// A rate's p10 is its low end: at the time's p90.
Estimate<double> rate(double amount, const Estimate<Seconds>& time) {
  return {amount / time.p90.value(), amount / time.p50.value(), amount / time.p10.value()};
}

void set_busiest_link(Summary& s, const ClusterSpec& cluster, const Trace& trace) {
  const Bytes most = cluster.gpu.memory_bandwidth * trace.makespan;
  for (const GpuUse& gpu : trace.gpus) s.hbm_ratio = std::max(s.hbm_ratio, gpu.hbm_carried / most);
  for (const LinkUse& link : trace.links) {
    const double ratio = link.busy / trace.makespan;
    if (ratio <= s.busiest_link_ratio) continue;
    s.busiest_link_ratio = ratio;
    s.busiest_link = link.name;
  }
}

void set_rates(Summary& s) {
  const auto tokens = static_cast<double>(s.tokens_per_step);
  s.tokens_per_second = rate(tokens, s.step_time);
  s.tokens_per_second_per_gpu = rate(tokens / s.gpus, s.step_time);
  s.mfu_ratio =
      s.peak > FlopsPerSec() ? rate((s.model_flops / (s.peak * s.gpus)).value(), s.step_time) : Estimate<double>{};
}

/// Products of matrices, whatever they are called.
bool is_model_work(const Kernel& kernel) {
  return !std::holds_alternative<VectorShape>(kernel.shape) && !std::holds_alternative<MemoryShape>(kernel.shape);
}

}  // namespace

std::string task_name(const Plan& plan, const Task& task) {
  if (const auto* collective = std::get_if<Collective>(&task.work))
    return std::string(to_string(collective->kind)) + " over " + std::string(to_string(collective->over));
  return plan.names[task.name];
}

std::vector<Seconds> task_durations(const Plan& plan, const Trace& trace) {
  std::vector<Seconds> result(plan.tasks.size());
  std::vector<std::int32_t> first(plan.tasks.size(), std::numeric_limits<std::int32_t>::max());
  for (const Span& span : trace.spans) {
    const std::int32_t gpu = trace.tracks[span.track].gpu;
    if (gpu < 0 || gpu > first[span.task]) continue;
    first[span.task] = gpu;
    result[span.task] = span.end - span.start;
  }
  return result;
}

Flops model_flops(const Graph& graph, const ParallelSpec& spec, bool training) {
  Flops forward;
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward) continue;
    if (is_model_work(op.kernel)) forward += flops(op.kernel);
  }
  return forward * static_cast<double>(spec.micro_batches) * spec.dp * (training ? 3.0 : 1.0);
}

std::string_view flop_convention(bool training) {
  return training ? "GEMM and attention FLOPs of the forward pass x 3, unmasked half of causal attention, "
                    "nothing recomputed, multiply-add = 2"
                  : "GEMM and attention FLOPs of the forward pass, unmasked half of causal attention, multiply-add = 2";
}

Summary summarize(const SummaryInput& in) {
  Summary s;
  s.scenario = in.scenario;
  s.run = in.run;
  s.model = in.graph.model;
  s.platform = in.cluster.name;
  s.gpu = in.cluster.gpu.name;
  s.parallel = in.plan.spec;
  s.gpus = s.parallel.world_size();
  s.training = in.build.mode == Mode::training;
  s.dtype = in.build.dtype;
  s.sequence = in.build.sequence;
  s.samples_per_step = in.build.batch * s.parallel.micro_batches * s.parallel.dp;
  s.tokens_per_step = s.samples_per_step * s.sequence;
  set_time_split(s, in.trace);
  s.step_time = step_error_bar(in.trace.makespan, kernel_errors(in.plan, in.costs, in.cluster.gpu), s.compute,
                               s.exposed_communication);
  s.model_flops = model_flops(in.graph, s.parallel, s.training);
  s.peak = in.cluster.gpu.peak_of(s.dtype);
  set_rates(s);
  s.memory = in.memory;
  s.memory_capacity = in.cluster.gpu.memory;
  s.operators = operator_shares(in);
  s.path = critical_path(in.plan, in.trace);
  set_busiest_link(s, in.cluster, in.trace);
  s.energy = step_energy(in.plan, in.costs, in.cluster, s.step_time, s.compute);
  set_provenance(s, in.plan, in.costs);
  s.events = in.trace.events;
  s.folded = in.trace.folded;
  return s;
}

}  // namespace tessera
