// Random tenants on a random GPU, and a policy that deploys them at random and interrupts now and then.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/dispatch/evaluate.hpp"

namespace tessera {

/// `blocks` blocks of `threads` threads that fit by their threads alone.
TenantKernel tenant_grid(const GpuSpec& gpu, std::int64_t blocks, int threads, Seconds tile, Bytes hbm = Bytes(0.0));

struct RandomTenants {
  GpuSpec gpu;
  std::vector<Tenant> tenants;
  SharingOptions options;

  explicit RandomTenants(std::uint64_t seed);
};

/// The hardware's rules under any deployment; with `interrupts`, urgent kernels that find no room stop the others.
class AnyDeployment final : public DispatchPolicy {
 public:
  AnyDeployment(std::uint64_t seed, const RandomTenants& of);
  [[nodiscard]] Deployment deploy(const TenantSet& tenants) override;
  [[nodiscard]] Decision next(const DispatchView& view) override;

 private:
  Deployment deployment_;
  std::unique_ptr<DispatchPolicy> rules_;
  bool interrupts_ = false, resets_ = false;
  std::int64_t slice_ = 0;  // blocks per decision; 0: all
};

}  // namespace tessera
