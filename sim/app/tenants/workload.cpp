#include "sim/app/tenants/workload.hpp"

#include <algorithm>
#include <variant>

#include "sim/graph/plan.hpp"

namespace tessera {

namespace {

// Two warps for each of an SM's four schedulers: with independent instructions in each they cover an FMA's latency of
// four cycles (Volta and later), so more resident blocks share the SM's arithmetic and do not add to it.
constexpr int kSaturatingThreads = 256;

KernelClass class_of(const Kernel& kernel, const GpuSpec& gpu) {
  const Flops work = flops(kernel);
  const FlopsPerSec peak = gpu.peak_of(kernel.dtype);
  if (!(peak > FlopsPerSec(0.0))) return KernelClass::unknown;
  return work / peak > traffic(kernel).total() / gpu.memory_bandwidth ? KernelClass::compute : KernelClass::memory;
}

}  // namespace

KernelCost shared_cost(KernelCost cost, KernelClass kind, const GpuSpec& gpu) {
  if (kind != KernelClass::compute) return cost;
  cost.blocks_per_sm = std::clamp(kSaturatingThreads / std::max(cost.footprint.threads, 1), 1, cost.blocks_per_sm);
  const std::int64_t wave = std::int64_t{gpu.sms} * cost.blocks_per_sm;
  cost.waves = (cost.blocks + wave - 1) / wave;
  return cost;
}

TenantWorkload tenant_workload(const ModelConfig& model, const BuildOptions& how, const GpuSpec& gpu,
                               const LatencyModel& latency) {
  const Graph graph = build_graph(model, how);
  const Plan plan = make_plan(graph, {});
  const CostTable costs = latency.predict(plan.kernels, gpu, {});
  TenantWorkload workload;
  for (const Task& task : plan.tasks) {
    const auto index = static_cast<std::size_t>(std::get<KernelId>(task.work));
    const Kernel& kernel = plan.kernels[index];
    const KernelClass kind = class_of(kernel, gpu);
    workload.kernels.push_back({shared_cost(costs[index], kind, gpu), kind, traffic(kernel).written});
    workload.names.push_back(plan.names[task.name]);
    workload.l2_traffic += traffic(kernel).total();
  }
  workload.memory = memory_footprint(model, how, graph, {}).total();
  return workload;
}

Seconds device_time(const TenantWorkload& workload) {
  Seconds sum;
  for (const TenantKernel& kernel : workload.kernels) sum += kernel.cost.time.p50;
  return sum;
}

}  // namespace tessera
