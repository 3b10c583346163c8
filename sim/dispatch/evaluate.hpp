// The fast evaluator: the GPU's rules on a heap of dates instead of SimGrid; thousands of runs a second.
#pragma once

#include <span>
#include <string_view>

#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/policy.hpp"
#include "sim/dispatch/tenant.hpp"
#include "sim/dispatch/timeline.hpp"

namespace tessera {

/// Tenants on one GPU under a policy, from 0 until all requests have ended. RunError if they never do, and where the
/// policy cannot deploy them. Equals `simulate_tenants` of sim/des within 1e-6.
Timeline evaluate(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                  const SharingOptions& options = {});
Timeline evaluate(std::span<const Tenant> tenants, const GpuSpec& gpu, std::string_view policy,
                  const SharingOptions& options = {});

/// Under a deployment that was made before.
Timeline evaluate_deployed(const TenantSet& tenants, const Deployment& deployment, DispatchPolicy& policy);

/// One slice, already cut; for searches.
struct SliceProgram;
Timeline evaluate_program(const SliceProgram& program, DispatchPolicy& policy, const SharingOptions& options);
/// Adds what happened on another slice; afterwards `order` puts everything in order of its end.
void merge(Timeline& into, Timeline&& part);
void order(Timeline& timeline);

}  // namespace tessera
