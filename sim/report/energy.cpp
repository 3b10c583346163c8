#include "sim/report/energy.hpp"

#include <cmath>

#include "models/device.hpp"

namespace tessera {

EnergyParts step_energy(const Plan& plan, const CostTable& costs, const ClusterSpec& cluster,
                        const Estimate<Seconds>& step, Seconds compute) {
  const int gpus = plan.spec.world_size();
  Joules per_rank_of_each;
  for (const Task& task : plan.tasks)
    if (const auto* id = std::get_if<KernelId>(&task.work))
      per_rank_of_each += costs[static_cast<std::size_t>(*id)].energy;

  EnergyParts parts;
  parts.kernels = per_rank_of_each * plan.spec.ranks_per_program();
  parts.idle_gpus = derive_device(cluster.gpu).idle * max(Seconds(), step.p50 - compute) * gpus;
  parts.hosts = cluster.node.host_power * step.p50 * (static_cast<double>(gpus) / cluster.node.gpus);
  const Joules p50 = parts.kernels + parts.idle_gpus + parts.hosts;
  const auto deviation = [&](Seconds other) {
    const double lasting = (parts.idle_gpus + parts.hosts).value() * (other - step.p50).value() / step.p50.value();
    return Joules(std::hypot(lasting, kEnergyError * parts.kernels.value()));
  };
  parts.total = {p50 - deviation(step.p10), p50, p50 + deviation(step.p90)};
  return parts;
}

}  // namespace tessera
