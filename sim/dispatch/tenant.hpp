// Who shares a GPU: a tenant sends requests, and a request is kernels that run one after the other.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/kernel_cost.hpp"
#include "sim/base/units.hpp"
#include "sim/dispatch/device_kernel.hpp"

namespace tessera {

struct TenantKernel {
  KernelCost cost;  // alone on the whole GPU
  KernelClass kind = KernelClass::unknown;
  Bytes output{};  // what concatenating its pieces moves once; 0: a third of hbm_bytes
};

/// When requests come. With `dates`, then (ascending); without, closed loop: `requests` of them, each when the one
/// before has ended, none from `until` on.
struct Arrivals {
  std::vector<Seconds> dates{};
  std::int64_t requests = 1;
  Seconds until{std::numeric_limits<double>::infinity()};
};

struct Tenant {
  std::string name;
  std::vector<TenantKernel> kernels;  // of one request
  int batch = 1;                      // inputs of a request: the most pieces a kernel can be cut into
  int priority = 0;                   // CUDA's convention: smaller is more urgent
  Arrivals arrivals{};
  std::optional<Seconds> slo{};  // from arrival to end of a request
  Seconds launch{};              // the host's time per kernel; 0: CUDA graph
  double sm_cap = 1;             // of the SMs that its process may use under MPS, (0, 1]
  std::string mig_slice{};       // as "2g" under `mig`; empty: the policy chooses
};

}  // namespace tessera
