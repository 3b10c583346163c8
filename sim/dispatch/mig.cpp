// MIG: the tenants do not share anything but power. Slices are those asked for, or the largest that all can have alike.
#include "sim/dispatch/mig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"
#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

/// Compute slices and eighths of the memory; 3g takes as much memory as 4g.
struct Profile {
  const char* name;
  int compute, memory, h100_sms;
};
constexpr std::array kProfiles{Profile{"1g", 1, 1, 16}, Profile{"2g", 2, 2, 32}, Profile{"3g", 3, 4, 60},
                               Profile{"4g", 4, 4, 64}, Profile{"7g", 7, 8, 132}};
constexpr int kComputeSlices = 7, kMemorySlices = 8;

int sms_of(const GpuSpec& gpu, const Profile& profile) {
  if (gpu.architecture == "Hopper GH100" && gpu.sms == 132) return profile.h100_sms;
  const int slice = gpu.sms / kComputeSlices / 2 * 2;
  return profile.compute * slice;
}

bool is_small(const GpuSpec& gpu) {  // A30: four slices of 14 SMs, each with a quarter of the memory
  return gpu.architecture == "Ampere GA100" && gpu.sms == 56;
}

class Mig final : public DispatchPolicy {
 public:
  [[nodiscard]] Deployment deploy(const TenantSet& set) override {
    Deployment deployment;
    double memory = 0;
    int sms = 0;
    for (const Tenant& tenant : set.tenants) {
      GpuSlice slice = slice_for(set, tenant);
      memory += slice.memory;
      sms += slice.sms;
      deployment.tenants.push_back({.slice = static_cast<std::uint32_t>(deployment.slices.size())});
      deployment.slices.push_back(std::move(slice));
    }
    if (memory > 1 + 1e-9 || sms > set.gpu.sms) {
      throw RunError(fmt::format("the MIG slices asked for take {} of {} SMs and {:.3g} of the memory of {}", sms,
                                 set.gpu.sms, memory, set.gpu.name));
    }
    return deployment;
  }
  [[nodiscard]] Decision next(const DispatchView& view) override {
    return head_of(view.queue, before_in_queue, [](const QueuedKernel&) { return true; });
  }

 private:
  static GpuSlice slice_for(const TenantSet& set, const Tenant& tenant) {
    const std::vector<GpuSlice> slices = mig_slices(set.gpu);
    if (slices.empty()) throw RunError(fmt::format("{} has no MIG", set.gpu.name));
    if (!tenant.mig_slice.empty()) {
      if (const auto slice = find_mig_slice(set.gpu, tenant.mig_slice)) return *slice;
      throw RunError(fmt::format("tenant '{}': {} has no MIG slice '{}'", tenant.name, set.gpu.name, tenant.mig_slice));
    }
    const auto count = static_cast<double>(set.tenants.size());
    const auto fits = [&](const GpuSlice& slice) {
      return slice.sms * count <= set.gpu.sms && slice.memory * count <= 1 + 1e-9;
    };
    const auto largest = std::find_if(slices.rbegin(), slices.rend(), fits);
    if (largest == slices.rend()) {
      throw RunError(fmt::format("{} tenants are more than {} has MIG slices", set.tenants.size(), set.gpu.name));
    }
    return *largest;
  }
};

}  // namespace

std::vector<GpuSlice> mig_slices(const GpuSpec& gpu) {
  std::vector<GpuSlice> slices;
  if (is_small(gpu)) {
    for (const int part : {1, 2, 4}) slices.push_back({fmt::format("{}g", part), 14 * part, part / 4.0, part / 4.0});
    return slices;
  }
  const bool has_mig =
      gpu.vendor == "NVIDIA" && (gpu.architecture == "Ampere GA100" || gpu.architecture == "Hopper GH100" ||
                                 gpu.architecture == "Blackwell GB100");
  if (!has_mig) return slices;
  for (const Profile& profile : kProfiles) {
    const double memory = static_cast<double>(profile.memory) / kMemorySlices;
    slices.push_back({profile.name, sms_of(gpu, profile), memory, memory});
  }
  return slices;
}

std::optional<GpuSlice> find_mig_slice(const GpuSpec& gpu, std::string_view name) {
  for (const GpuSlice& slice : mig_slices(gpu)) {
    if (slice.name == name) return slice;
  }
  return std::nullopt;
}

std::unique_ptr<DispatchPolicy> make_mig() {
  return std::make_unique<Mig>();
}

}  // namespace tessera
