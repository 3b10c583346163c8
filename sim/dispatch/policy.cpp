#include "sim/dispatch/policy.hpp"

namespace tessera {

Deployment shared_streams(const TenantSet& tenants) {
  Deployment deployment;
  deployment.slices.push_back({"whole", tenants.gpu.sms, 1, 1});
  for (const Tenant& tenant : tenants.tenants) deployment.tenants.push_back({.priority = tenant.priority});
  return deployment;
}

Deployment DispatchPolicy::deploy(const TenantSet& tenants) {
  return shared_streams(tenants);
}

}  // namespace tessera
