// What is wrong between tenants and their run, and how much a run may be.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "sim/app/tenants/shared_run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

std::vector<int> devices_of(const TenantSection& tenant, std::size_t devices) {
  if (!tenant.devices.empty()) return tenant.devices;
  std::vector<int> all(devices);
  for (std::size_t i = 0; i < devices; ++i) all[i] = static_cast<int>(i);
  return all;
}

namespace {

bool ends(const TenantSection& tenant, const SharingSection& sharing) {
  return !tenant.arrivals || sharing.duration || tenant.arrivals->requests > 0 || tenant.arrivals->trace;
}

/// Those that are known before anything is priced: not of closed loops that end by the duration, nor of traces.
double expected_requests(const TenantSection& tenant, const SharingSection& sharing) {
  if (!tenant.arrivals) return 1;
  const ArrivalsSection& a = *tenant.arrivals;
  const auto most = static_cast<double>(a.requests);
  if (a.trace || !a.rate) return most;
  const double come = sharing.duration ? *a.rate * *sharing.duration : most;
  return a.requests > 0 ? std::min(come, most) : come;
}

void check_devices(const SharedSections& s, const TenantSection& tenant, std::vector<std::string>& wrong) {
  std::set<int> seen;
  for (const int device : tenant.devices) {
    if (device < 0 || device >= static_cast<int>(s.gpus.size()))
      wrong.push_back(
          fmt::format("{}: device {} is not there; there are {}, counted from 0", tenant.name, device, s.gpus.size()));
    else if (!seen.insert(device).second)
      wrong.push_back(fmt::format("{}: device {} is given twice", tenant.name, device));
  }
}

void check_tenant(const SharedSections& s, const TenantSection& tenant, std::vector<std::string>& wrong) {
  check_devices(s, tenant, wrong);
  if (!ends(tenant, s.sharing))
    wrong.push_back(
        fmt::format("{}: its arrivals never end; give the run a duration, or the arrivals requests", tenant.name));
  if (tenant.sm_share < 1 && s.dispatch != "mps")
    wrong.push_back(fmt::format("{}: sm_share needs dispatch mps, found {}", tenant.name, s.dispatch));
  if (tenant.mig && s.dispatch != "mig")
    wrong.push_back(fmt::format("{}: mig needs dispatch mig, found {}", tenant.name, s.dispatch));
}

/// Keys of `sharing` that nothing looks at.
void check_sharing(const SharedSections& s, std::vector<std::string>& wrong) {
  if (s.sharing.time_slice != SharingOptions{}.time_slice && s.dispatch != "timeslice")
    wrong.push_back(fmt::format("sharing.time_slice needs dispatch timeslice, found {}", s.dispatch));
  if (s.sharing.duration &&
      std::ranges::none_of(s.tenants, [](const TenantSection& t) { return t.arrivals.has_value(); }))
    wrong.emplace_back("sharing.duration ends arrivals, and no tenant has any: each sends one request, at 0");
  for (std::size_t device = 0; device < s.gpus.size(); ++device) {
    const auto is_on = [&](const TenantSection& tenant) {
      return std::ranges::count(devices_of(tenant, s.gpus.size()), static_cast<int>(device)) > 0;
    };
    if (std::ranges::none_of(s.tenants, is_on))
      wrong.push_back(fmt::format("device {} ({}) has no tenant", device, s.gpus[device]));
  }
}

void check_requests(const SharedSections& s, std::vector<std::string>& wrong) {
  double sum = 0;
  for (const TenantSection& tenant : s.tenants) sum += expected_requests(tenant, s.sharing);
  if (sum <= static_cast<double>(kMostRequests)) return;
  std::string text = fmt::format(
      "some {:.3g} requests are more than the {} of a run; shorten the duration or lower:", sum, kMostRequests);
  for (const TenantSection& tenant : s.tenants)
    fmt::format_to(std::back_inserter(text), " {} {:.3g}", tenant.name, expected_requests(tenant, s.sharing));
  wrong.push_back(std::move(text));
}

/// MIG cannot deploy what the GPU does not have; it says so before anything runs.
void check_slices(const SharedSections& s, std::vector<std::string>& wrong) {
  if (s.dispatch != "mig") return;
  for (std::size_t device = 0; device < s.gpus.size(); ++device) {
    std::vector<Tenant> tenants;
    for (const TenantSection& section : s.tenants) {
      const std::vector<int> on = devices_of(section, s.gpus.size());
      if (std::ranges::find(on, static_cast<int>(device)) == on.end()) continue;
      Tenant& tenant = tenants.emplace_back();
      tenant.name = section.name;
      tenant.mig_slice = section.mig.value_or("");
    }
    const GpuSpec gpu = find_gpu(s.gpus[device]);
    try {
      static_cast<void>(make_dispatch_policy(s.dispatch)->deploy({tenants, gpu, SharingOptions{}}));
    } catch (const RunError& error) {
      wrong.emplace_back(error.what());
    }
  }
}

/// At most, were a closed loop never to wait.
double launches(const Tenant& tenant, const TenantWorkload& workload) {
  const Arrivals& a = tenant.arrivals;
  auto requests = static_cast<double>(a.dates.empty() ? a.requests : static_cast<std::int64_t>(a.dates.size()));
  if (a.dates.empty()) requests = std::min(requests, std::ceil(a.until / device_time(workload)));
  return requests * static_cast<double>(workload.kernels.size());
}

}  // namespace

std::vector<std::string> sharing_mistakes(const SharedSections& s) {
  std::vector<std::string> wrong;
  std::set<std::string> names;
  for (const TenantSection& tenant : s.tenants) {
    if (!names.insert(tenant.name).second) wrong.push_back(fmt::format("two tenants are named '{}'", tenant.name));
    check_tenant(s, tenant, wrong);
  }
  if (!wrong.empty()) return wrong;
  check_sharing(s, wrong);
  check_requests(s, wrong);
  check_slices(s, wrong);
  return wrong;
}

void check_shared_launches(const SharedRunSpec& spec) {
  for (const GpuTenants& shared : spec.gpus) {
    double sum = 0;
    std::string each;
    for (std::size_t i = 0; i < shared.tenants.size(); ++i) {
      const double its = launches(shared.tenants[i], shared.workloads[i]);
      sum += its;
      fmt::format_to(std::back_inserter(each), "\n  {:<20} {:.3g}", shared.tenants[i].name, its);
    }
    if (sum > static_cast<double>(kMostLaunches))
      throw RunError(
          fmt::format("{}: up to {:.3g} kernels on {} (device {}) are more than the {} of a run:{}\nShorten the "
                      "duration, or lower rates or requests.",
                      spec.name, sum, shared.gpu.name, shared.device, kMostLaunches, each));
  }
}

}  // namespace tessera
