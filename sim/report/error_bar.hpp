// The error bar of a whole step from those of its kernels; pure.
#pragma once

#include <array>
#include <span>

#include "models/kernel_cost.hpp"
#include "sim/base/estimate.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

/// Kernels whose latency comes from one fitted model, so that they are wrong together.
enum class KernelFamily : std::uint8_t { gemm, attention, vector, memory };
inline constexpr std::size_t kKernelFamilyCount = 4;
KernelFamily family_of(Op op);

/// Sums of quantiles per family: right when the errors inside a family are fully correlated, which they are on one
/// GPU (one efficiency, one clock, one bandwidth).
using FamilyTimes = std::array<Estimate<Seconds>, kKernelFamilyCount>;
FamilyTimes family_times(const Plan& plan, const CostTable& costs);

/// Share of the squared deviation that all families have in common (sustained clock, power, software versions).
/// Not fitted: half, the middle between independent and identical errors.
inline constexpr double kCommonErrorShare = 0.5;
/// Relative error of communication time at p10 and p90, around a link filled to kNcclPayload (models/collectives.hpp):
/// the same measurements take 0.74 to 1.5 times as long (p10, p90).
inline constexpr double kCommunicationLow = 0.26, kCommunicationHigh = 0.5;

/// Band around a simulated `step`. With d_f a family's deviation from its p50 and c that of the exposed communication:
///   deviation^2 = (1 - s) * sum(d_f^2) + s * (sum d_f)^2 + c^2,  s = kCommonErrorShare,
/// for p10 and p90 apart. `compute` scales the families to what the simulation saw (kernels hidden behind others count
/// less). Not modelled: errors of the host's launches, shifts of the overlap between compute and communication.
Estimate<Seconds> step_error_bar(Seconds step, const FamilyTimes& families, Seconds compute,
                                 Seconds exposed_communication);

}  // namespace tessera
