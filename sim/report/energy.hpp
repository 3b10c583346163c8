// Energy of a step from its kernels, the GPUs' idle power and the hosts; pure.
#pragma once

#include "models/kernel_cost.hpp"
#include "sim/base/estimate.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/graph/plan.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

/// Relative error of kernel energy at p10 and p90; not fitted.
inline constexpr double kEnergyError = 0.25;

/// Energy of all used GPUs and of their share of the hosts, one step.
struct EnergyParts {
  Joules kernels, idle_gpus, hosts;
  Estimate<Joules> total;
};

/// kernels: KernelCost::energy per call, on every GPU. idle: the GPU's idle power (Device::idle) while no kernel runs.
/// hosts: NodeSpec::host_power x used GPUs / GPUs of a node x step. Band: the parts that last as long as the step
/// follow `step`, kernels +- kEnergyError; both added as independent. Not modelled: switches between nodes, cooling,
/// power supplies, energy of moving bytes over links, hosts
/// below full load (host_power is an upper bound), GPUs that spin inside a collective (charged as idle).
EnergyParts step_energy(const Plan& plan, const CostTable& costs, const ClusterSpec& cluster,
                        const Estimate<Seconds>& step, Seconds compute);

}  // namespace tessera
