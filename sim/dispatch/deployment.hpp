// How tenants are put on a GPU before anything runs: processes, priorities, caps, MIG slices, pieces, pointers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/tenant.hpp"

namespace tessera {

/// The terms by which co-running kernels slow each other beside SM slots and block rules, each with its switch.
/// Formulas and sources: README.md, "Interference".
struct SharingTerms {
  bool hbm = true;     // bandwidth is shared; off: everyone gets what it asks for
  bool issue = true;   // blocks that together fill more than the SMs share their issue slots
  bool l2 = true;      // others evict one's lines and hold the L2's ports
  bool clock = true;   // the power cap lowers the clock
  bool launch = true;  // gap between dependent kernels, longer the more tenants are active
};

struct SharingOptions {
  SharingTerms terms{};
  Seconds time_slice{2e-3};  // between processes without MPS (assumed: NVIDIA's default)
  /// Blocks that would end within this part of their time of others end with them, so that waves which fell apart come
  /// together again: many tenants are simulated faster, single blocks are that much wrong either way. 0: exact.
  double grain = 0.03;
  bool record_kernels = false;
  bool record_usage = false;
};

/// Whoever deploys knows these.
struct TenantSet {
  std::span<const Tenant> tenants;
  const GpuSpec& gpu;
  const SharingOptions& options;
};

/// An independent part of the GPU; without MIG there is one, the whole.
struct GpuSlice {
  std::string name;
  int sms = 0;
  double hbm = 1, memory = 1;  // parts of the GPU's
};

/// For a kernel's number of pieces: two unequal ones, of which the first, or the last, has a quarter of the blocks.
inline constexpr std::uint32_t kQuarterFirst = 1U << 12, kQuarterLast = kQuarterFirst + 1;

struct TenantDeployment {
  std::uint32_t slice = 0, process = 0;
  int priority = 0;
  double sm_cap = 1;
  std::vector<std::uint32_t> pieces{};    // per kernel: equal ones, or one of the above; empty: all whole
  std::vector<std::uint32_t> pointers{};  // kernels before which all tenants wait for each other, ascending
};

struct Deployment {
  std::vector<GpuSlice> slices{};
  std::vector<TenantDeployment> tenants{};  // parallel to the tenants
  double concat_cost = 1;                   // of the copy after a kernel's pieces; 0: free
  Seconds pointer_cost{};                   // of one synchronisation
};

/// One process, one stream per tenant.
Deployment shared_streams(const TenantSet& tenants);

}  // namespace tessera
