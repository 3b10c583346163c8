// What people ask of tenants that share a GPU, from a timeline; pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/gpu.hpp"
#include "sim/config/json.hpp"
#include "sim/config/packing_text.hpp"
#include "sim/dispatch/tenant.hpp"
#include "sim/dispatch/timeline.hpp"

namespace tessera {

struct TenantMeasures {
  std::string name;
  int priority = 0;
  std::int64_t requests = 0;
  Seconds solo;            // a request alone on the GPU
  Seconds mean, p50, p99;  // from arrival to end; nearest rank
  double slowdown = 0;     // mean / solo, waiting included
  Hertz throughput;        // requests / end of the last
  std::optional<Seconds> slo;
  double in_slo_ratio = 0;  // of the requests
  Hertz goodput;            // requests within the SLO / end of the last
};

/// A part of the run's time.
struct UsageBin {
  Seconds at;
  double sm_ratio = 0, hbm_ratio = 0, l2_ratio = 0;
};

struct SharingMeasures {
  Seconds makespan;
  std::vector<TenantMeasures> tenants;
  double jain = 1;                  // Jain's index over solo / mean of the tenants: 1 is fair
  double sm_ratio = 0;              // SM time filled by blocks, as if undisturbed, over SMs x makespan
  double hbm_ratio = 0;             // bytes over bandwidth x makespan
  double l2_ratio = 0;              // compulsory bytes over L2 bandwidth x makespan
  Seconds residue;                  // SM time left over: SMs x makespan - what blocks filled (GACER's R)
  Joules energy;                    // of the GPU, idle power included
  std::vector<UsageBin> over_time;  // of equal length
};

struct SharingInput {
  std::span<const Tenant> tenants;
  const GpuSpec& gpu;
  const Timeline& timeline;
  std::span<const Seconds> solo;      // parallel to tenants
  std::span<const Bytes> l2_traffic;  // of a request, parallel to tenants
};
SharingMeasures measure_sharing(const SharingInput& input);

/// The smallest value that at least `share` of the values do not exceed; values need not be sorted. At least one.
Seconds quantile(std::vector<Seconds> values, double share);

/// One GPU's result with its names.
struct SharingSummary {
  std::string scenario, run, gpu, dispatch;
  int device = 0;
  SharingMeasures measures;
  std::optional<Seconds>
      search;  // wall time of the policy's search; not in files, which are the same for the same input
};

std::string sharing_text(const SharingSummary& summary);
Json sharing_json(const SharingSummary& summary);
/// A row per request: tenant, arrival_s, start_s, end_s, latency_s.
std::string requests_csv(std::span<const Tenant> tenants, const Timeline& timeline);

/// Names of the kernels of each tenant.
using KernelNames = std::vector<std::vector<std::string>>;
/// Chrome trace events: a thread per tenant, in a colour of its own.
void tenants_trace(std::span<const Tenant> tenants, const KernelNames& names, const Timeline& timeline,
                   PackingText& out);
/// The timeline as a picture: a lane per tenant in its colour, and the SMs in use below.
std::string tenants_svg(std::span<const Tenant> tenants, const SharingSummary& summary, const Timeline& timeline);

}  // namespace tessera
