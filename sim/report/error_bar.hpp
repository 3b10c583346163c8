// The error bar of a step, or of a part of one, from those of its kernels; pure.
#pragma once

#include <functional>
#include <vector>

#include "models/kernel_cost.hpp"
#include "sim/base/estimate.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

/// How far one side of the bar is from p50, in seconds.
struct SideErrors {
  std::vector<double> shared;  // by FamilyId: of all kernels of the family, wrong together on one GPU
  double own_squares = 0;      // of distinct kernels, each wrong by itself; calls of one kernel are wrong together
};

/// What is summed over a rank's kernels before families are combined.
struct KernelErrors {
  Seconds total;  // p50
  SideErrors low, high;
};
/// Kernels of the tasks that `counts` lets through (all, where it is empty).
KernelErrors kernel_errors(const Plan& plan, const CostTable& costs, const GpuSpec& gpu,
                           const std::function<bool(const Task&)>& counts = {});

/// Relative error of communication time at p10 and p90, measured around links filled to kNcclPayload
/// (models/collectives/ring.hpp): 0.74 to 1.5 times as long (p10, p90). Wider than the errors of CollectiveModel on
/// GPUs left out, 0.80 to 1.45 (the bars in calibration/weights/collectives.json).
inline constexpr double kCommunicationLow = 0.26, kCommunicationHigh = 0.5;

/// Band around a simulated `time`, of which kernels took `compute`. A kernel's half bar d, called n times, has a part
/// shared with its family, sqrt(r) n d with r = KernelCost::shared_ratio, and one of its own, sqrt(1 - r) n d:
///   deviation^2 = sum over families f, g of rho(f, g) s_f s_g + sum over kernels of own^2 + c^2,
/// s_f the sum of a family's shared parts, rho = error_correlation (models/shared_error.hpp), c that of the exposed
/// communication; p10 and p90 apart. `compute` scales the kernels to what the simulation saw (those hidden behind
/// others count less). Not modelled: errors of the host's launches, shifts of the overlap between compute and
/// communication, own errors that shapes close to each other share.
Estimate<Seconds> step_error_bar(Seconds time, const KernelErrors& kernels, Seconds compute,
                                 Seconds exposed_communication);

}  // namespace tessera
