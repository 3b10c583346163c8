// Kernels measured one by one, in the layout of Orion's profiles (EuroSys 2024, eth-easl/orion): a row per launch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/kernel_cost.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/tenant.hpp"

namespace tessera {

struct ProfileKernel {
  std::string name;
  KernelClass kind = KernelClass::unknown;
  std::int64_t sms = 1;  // that its blocks need; more than there are: several waves
  Seconds duration;
};

/// Columns Name, Profile (1: bound by arithmetic, 0: by memory, -1: unknown), SM_usage, Duration (in ns). InputError
/// with every bad row: a duration or SM need that is not positive, another class.
std::vector<ProfileKernel> read_profile_kernels(const std::filesystem::path& path);

/// A kernel as the sharing engine takes it: a block per SM that it needs. What it moves was not measured: memory-bound
/// kernels draw 0.8 of the bandwidth, others 0.3 and unknown ones 0.4 (papers: GACER notes' assumption), no more than
/// their SMs can. Energy: idle power apart, in proportion to the SMs that it fills.
TenantKernel tenant_kernel(const ProfileKernel& kernel, const GpuSpec& gpu);

}  // namespace tessera
