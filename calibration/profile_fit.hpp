// From measured kernels of one GPU to the offsets of its profile: Bayesian shrinkage, in closed form.
#pragma once

#include <span>
#include <vector>

#include "models/latency_model.hpp"
#include "models/log_error.hpp"
#include "models/profile.hpp"

namespace tessera {

/// A measured kernel against its zero-shot price.
struct Observation {
  FamilyId family = FamilyId::memory;
  Dtype dtype = Dtype::fp32;
  double log_ratio = 0;  // of measured over p50
  LogError error;        // what the price's bar says beforehand
};
/// `cost` is `model`'s for `kernel` on `device`.
Observation observe(const Kernel& kernel, const KernelCost& cost, Seconds measured, const Device& device);

/// By FamilyId: deviation of what a family's errors share, before any measurement.
using SharedDeviations = std::vector<double>;
/// That of a typical kernel of each family, as `model` prices it on `gpu`.
SharedDeviations shared_deviations(const LatencyModel& model, const GpuSpec& gpu);

/// Dtypes of one family: correlation between their shared errors on one GPU. bf16 and fp8 GEMMs of H100, L40S and B200
/// left out of the fit: 0.98; nvfp4 of B200 against both: -0.4.
inline constexpr double kDtypeCorrelation = 0.8;

/// Offsets of every family, and of each family's measured dtypes. Prior: jointly normal, deviations from `priors` (a
/// measured dtype's from its own rows), correlations error_correlation x kDtypeCorrelation. Likelihood: each row's
/// log_ratio is normal around its offset with the kernel's own deviation; rows further from their median than two of
/// those count less (Huber's weight), since a benchmark's outliers are not the GPU's. Rows are taken as independent.
std::vector<FamilyOffset> fit_offsets(std::span<const Observation> observations, const SharedDeviations& priors);

}  // namespace tessera
