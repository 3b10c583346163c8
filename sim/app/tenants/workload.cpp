#include "sim/app/tenants/workload.hpp"

#include <variant>

#include "sim/graph/plan.hpp"

namespace tessera {

namespace {

KernelClass class_of(const Kernel& kernel, const GpuSpec& gpu) {
  const Flops work = flops(kernel);
  const FlopsPerSec peak = gpu.peak_of(kernel.dtype);
  if (!(peak > FlopsPerSec(0.0))) return KernelClass::unknown;
  return work / peak > traffic(kernel).total() / gpu.memory_bandwidth ? KernelClass::compute : KernelClass::memory;
}

}  // namespace

TenantWorkload tenant_workload(const ModelConfig& model, const BuildOptions& how, const GpuSpec& gpu,
                               const LatencyModel& latency) {
  const Graph graph = build_graph(model, how);
  const Plan plan = make_plan(graph, {});
  const CostTable costs = latency.predict(plan.kernels, gpu, {});
  TenantWorkload workload;
  for (const Task& task : plan.tasks) {
    const auto index = static_cast<std::size_t>(std::get<KernelId>(task.work));
    const Kernel& kernel = plan.kernels[index];
    workload.kernels.push_back({costs[index], class_of(kernel, gpu), traffic(kernel).written});
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
