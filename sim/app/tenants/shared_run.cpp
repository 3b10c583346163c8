#include "sim/app/tenants/shared_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

#include "sim/app/tenants/arrivals.hpp"
#include "sim/app/tenants/profile_kernels.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/des/tenants.hpp"

namespace tessera {

namespace {

constexpr Seconds kForever{std::numeric_limits<double>::infinity()};

/// The dates of all copies; of a closed loop there are none.
std::vector<Seconds> dates_of(const TenantSection& tenant, Seconds end, Rng rng) {
  if (!tenant.arrivals) return {};
  const ArrivalsSection& a = *tenant.arrivals;
  if (a.trace) return trace_dates(*a.trace, end, a.requests);
  if (a.rate) return poisson_dates(*a.rate, a.burst, end, a.requests, rng);
  return {};
}

Arrivals arrivals_of(const TenantSection& tenant, const std::vector<Seconds>& dates, Seconds end, std::size_t copies,
                     std::size_t copy) {
  Arrivals arrivals;
  if (!tenant.arrivals) return arrivals;
  if (tenant.arrivals->rate || tenant.arrivals->trace) {
    if (dates.empty()) throw RunError(fmt::format("{}: no request arrives within {}", tenant.name, format(end)));
    arrivals.dates = every(dates, copies, copy);
    if (arrivals.dates.empty()) arrivals.requests = 0;  // fewer requests than GPUs
    return arrivals;
  }
  arrivals.until = end;
  arrivals.requests =
      tenant.arrivals->requests > 0 ? tenant.arrivals->requests : std::numeric_limits<std::int64_t>::max();
  return arrivals;
}

TenantWorkload profiled(const TenantSection& tenant, const GpuSpec& gpu) {
  TenantWorkload workload;
  for (const ProfileKernel& kernel : read_profile_kernels(*tenant.profile)) {
    workload.kernels.push_back(tenant_kernel(kernel, gpu));
    workload.names.push_back(kernel.name);
    workload.l2_traffic += workload.kernels.back().cost.hbm_bytes;
  }
  return workload;
}

TenantWorkload workload_of(const TenantSection& tenant, const GpuSpec& gpu, const LatencyModel& latency) {
  if (tenant.profile) return profiled(tenant, gpu);
  return tenant_workload(find_model(*tenant.model),
                         {.mode = tenant.mode,
                          .batch = tenant.batch,
                          .sequence = tenant.sequence,
                          .dtype = tenant.dtype,
                          .attention = tenant.attention,
                          .optimizer = tenant.mode == Mode::training ? tenant.optimizer : OptimizerKind::none,
                          .accumulate = false,
                          .fused = tenant.fused},
                         gpu, latency);
}

Tenant as_tenant(const TenantSection& section, const TenantWorkload& workload, Seconds host_launch) {
  Tenant tenant;
  tenant.name = section.name;
  tenant.kernels = workload.kernels;
  tenant.batch = static_cast<int>(section.batch);
  tenant.priority = section.priority;
  tenant.slo = section.slo;
  tenant.launch = section.cuda_graph ? Seconds(0.0) : host_launch;
  tenant.sm_cap = section.sm_share;
  tenant.mig_slice = section.mig.value_or("");
  return tenant;
}

SharingTerms terms_of(const SharingSection& s) {
  return {.hbm = s.hbm, .issue = s.issue, .l2 = s.l2, .clock = s.clock, .launch = s.launch};
}

}  // namespace

SharedRunSpec resolve_sharing(const SharedSections& s, const LatencyModel& latency) {
  SharedRunSpec spec{.scenario = s.scenario, .name = s.run, .dispatch = s.dispatch, .options = {}, .gpus = {}};
  spec.options = {
      .terms = terms_of(s.sharing), .time_slice = s.sharing.time_slice, .record_kernels = true, .record_usage = true};
  for (std::size_t device = 0; device < s.gpus.size(); ++device) {
    GpuTenants shared{
        .device = static_cast<int>(device), .gpu = find_gpu(s.gpus[device]), .tenants = {}, .workloads = {}};
    const Seconds host_launch = single_gpu(s.gpus[device]).node.host_launch;
    for (std::size_t i = 0; i < s.tenants.size(); ++i) {
      const TenantSection& section = s.tenants[i];
      const std::vector<int> on = devices_of(section, s.gpus.size());
      const auto copy = std::ranges::find(on, shared.device);
      if (copy == on.end()) continue;
      shared.workloads.push_back(workload_of(section, shared.gpu, latency));
      if (section.memory) shared.workloads.back().memory = *section.memory;
      shared.tenants.push_back(as_tenant(section, shared.workloads.back(), host_launch));
      const Seconds end = s.sharing.duration.value_or(kForever);
      shared.tenants.back().arrivals = arrivals_of(section, dates_of(section, end, Rng(s.seed, i + 1)), end, on.size(),
                                                   static_cast<std::size_t>(copy - on.begin()));
    }
    if (!shared.tenants.empty()) spec.gpus.push_back(std::move(shared));
  }
  check_shared_launches(spec);
  return spec;
}

namespace {

/// Parts of the GPU's memory, and whose each is.
Deployment memory_parts(const GpuTenants& shared, const SharedRunSpec& spec) {
  const TenantSet tenants{shared.tenants, shared.gpu, spec.options};
  return spec.dispatch == "mig" ? make_dispatch_policy("mig")->deploy(tenants) : shared_streams(tenants);
}

[[noreturn]] void complain(const SharedRunSpec& spec, const GpuTenants& shared, const GpuSlice& part,
                           const std::vector<std::size_t>& inside, Bytes sum) {
  const Bytes capacity = shared.gpu.memory * part.memory;
  const std::string where =
      part.memory < 1 ? fmt::format("slice {} of {}", part.name, shared.gpu.name) : shared.gpu.name;
  std::string text = fmt::format("{}: the tenants do not fit on {} (device {}): {} of {}, {} too much", spec.name,
                                 where, shared.device, format(sum), format(capacity), format(sum - capacity));
  for (const std::size_t i : inside)
    fmt::format_to(std::back_inserter(text), "\n  {:<20} {}", shared.tenants[i].name,
                   format(shared.workloads[i].memory));
  throw RunError(text + "\nLower a batch, spread the tenants over more devices, or take a GPU with more memory.");
}

}  // namespace

void check_shared_memory(const SharedRunSpec& spec) {
  for (const GpuTenants& shared : spec.gpus) {
    const Deployment parts = memory_parts(shared, spec);
    for (std::size_t slice = 0; slice < parts.slices.size(); ++slice) {
      std::vector<std::size_t> inside;
      Bytes sum;
      for (std::size_t i = 0; i < shared.tenants.size(); ++i) {
        if (parts.tenants[i].slice != slice) continue;
        inside.push_back(i);
        sum += shared.workloads[i].memory;
      }
      if (sum > shared.gpu.memory * parts.slices[slice].memory)
        complain(spec, shared, parts.slices[slice], inside, sum);
    }
  }
}

namespace {

/// A request alone on the whole GPU.
std::vector<Seconds> solo_times(const GpuTenants& shared, const SharingOptions& options) {
  std::vector<Seconds> times;
  for (Tenant alone : shared.tenants) {
    alone.arrivals = {};
    alone.sm_cap = 1;
    alone.priority = 0;
    times.push_back(evaluate(std::span(&alone, 1), shared.gpu, "streams",
                             {.terms = options.terms, .time_slice = options.time_slice})
                        .makespan);
  }
  return times;
}

Seconds search_time(const GpuTenants& shared, const SharedRunSpec& spec) {
  const auto start = std::chrono::steady_clock::now();
  static_cast<void>(make_dispatch_policy(spec.dispatch)->deploy({shared.tenants, shared.gpu, spec.options}));
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

std::vector<SharedResult> run_shared(const SharedRunSpec& spec) {
  check_shared_memory(spec);
  std::vector<SharedResult> results;
  for (const GpuTenants& shared : spec.gpus) {
    SharedResult result;
    SharingSummary& s = result.summary;
    s.scenario = spec.scenario, s.run = spec.name, s.dispatch = spec.dispatch;
    s.gpu = shared.gpu.name, s.device = shared.device;
    s.search = search_time(shared, spec);
    result.timeline =
        simulate_tenants_isolated(shared.tenants, shared.gpu, *make_dispatch_policy(spec.dispatch), spec.options);
    std::vector<Bytes> l2;
    for (const TenantWorkload& workload : shared.workloads) l2.push_back(workload.l2_traffic);
    const std::vector<Seconds> solo = solo_times(shared, spec.options);
    s.measures = measure_sharing({shared.tenants, shared.gpu, result.timeline, solo, l2});
    results.push_back(std::move(result));
  }
  return results;
}

KernelNames kernel_names(const GpuTenants& gpu) {
  KernelNames names;
  for (const TenantWorkload& workload : gpu.workloads) names.push_back(workload.names);
  return names;
}

OutputFiles tenant_files(const GpuTenants& gpu, const SharedResult& result) {
  return {{"summary.json", sharing_json(result.summary).dump() + "\n"},
          {"requests.csv", requests_csv(gpu.tenants, result.timeline)},
          {"timeline.svg", tenants_svg(gpu.tenants, result.summary, result.timeline)}};
}

}  // namespace tessera
