// A run of tenants that share GPUs, from its section to its measures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/app/tenants/section.hpp"
#include "sim/app/tenants/workload.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/evaluate.hpp"
#include "sim/report/outputs.hpp"
#include "sim/report/tenants.hpp"

namespace tessera {

/// One GPU and who is on it.
struct GpuTenants {
  int device = 0;  // its number in the run
  GpuSpec gpu;
  std::vector<Tenant> tenants;
  std::vector<TenantWorkload> workloads;  // parallel
};

struct SharedRunSpec {
  std::string scenario, name, dispatch;
  SharingOptions options;
  std::vector<GpuTenants> gpus;  // those that have tenants
};

/// What a run of tenants is made of, names looked up.
struct SharedSections {
  std::string scenario, run, dispatch;
  std::vector<std::string> gpus;  // names of data sheets, in the order of the devices
  const SharingSection& sharing;
  const std::vector<TenantSection>& tenants;
  std::uint64_t seed = 1;
};

/// What is wrong between tenants and the run: devices that are not there, arrivals without end, shares and slices that
/// the policy does not look at or the GPU does not have, more requests than a run has. Empty: nothing.
std::vector<std::string> sharing_mistakes(const SharedSections& sections);

/// The devices that it runs on, of so many.
std::vector<int> devices_of(const TenantSection& tenant, std::size_t devices);

/// RunError where a GPU's tenants launch more kernels than a run has.
void check_shared_launches(const SharedRunSpec& spec);

/// RunError as above.
SharedRunSpec resolve_sharing(const SharedSections& sections, const LatencyModel& latency);

struct SharedResult {
  SharingSummary summary;
  Timeline timeline;
};

/// RunError where the tenants of a GPU do not fit into its memory, with what each holds.
void check_shared_memory(const SharedRunSpec& spec);

/// One result per GPU, each simulated in the event loop. RunError as above, and where the policy cannot deploy.
std::vector<SharedResult> run_shared(const SharedRunSpec& spec);

KernelNames kernel_names(const GpuTenants& gpu);

/// summary.json, requests.csv and timeline.svg.
OutputFiles tenant_files(const GpuTenants& gpu, const SharedResult& result);

}  // namespace tessera
