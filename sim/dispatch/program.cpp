#include "sim/dispatch/program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/device.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

/// Copies `bytes` in and out of device memory, with every SM.
DeviceKernel copy_kernel(Bytes bytes, const GpuSpec& gpu, GpuShare share) {
  const Device device = derive_device(gpu);
  KernelCost cost;
  cost.blocks = gpu.sms;
  cost.footprint.threads = std::min(1024, gpu.threads_per_sm);
  cost.blocks_per_sm = std::max(1, gpu.threads_per_sm / cost.footprint.threads);
  cost.footprint.registers_per_thread = 0;
  cost.hbm_bytes = 2 * bytes;
  cost.time = Estimate<Seconds>::exact(max(device.launch_floor, cost.hbm_bytes / device.hbm));
  cost.energy = device.energy_per_byte * cost.hbm_bytes;
  return device_kernel(cost, gpu, share);
}

GpuSpec as_gpu(const GpuSpec& gpu, const GpuSlice& slice) {
  GpuSpec part = gpu;
  part.sms = slice.sms;
  part.memory_bandwidth = gpu.memory_bandwidth * slice.hbm;
  part.memory = gpu.memory * slice.memory;
  part.l2 = gpu.l2 * slice.memory;
  return part;
}

/// As the profile says; otherwise memory where it takes at least 60 % of the bandwidth alone, Orion's threshold.
KernelClass class_of(const TenantKernel& kernel, const GpuSpec& gpu) {
  if (kernel.kind != KernelClass::unknown || kernel.cost.hbm_bytes <= Bytes(0.0)) return kernel.kind;
  const BytesPerSec rate = kernel.cost.hbm_bytes / kernel.cost.time.p50;
  return rate >= 0.6 * gpu.memory_bandwidth ? KernelClass::memory : KernelClass::compute;
}

/// Clients with a cap get SMs one after the other, around the end where caps exceed the GPU.
class Caps {
 public:
  explicit Caps(int sms) : sms_(sms) {}
  SmRange range(double cap) {
    if (cap >= 1) return {};
    const int count = std::max(1, static_cast<int>(std::ceil(cap * sms_ - 1e-9)));
    const SmRange range{next_ % sms_, count};
    next_ += count;
    return range;
  }

 private:
  int sms_, next_ = 0;
};

void add_tenant(SliceProgram& program, const GpuSpec& gpu, const GpuSlice& slice, const TenantDeployment& deployed,
                SmRange range, const Tenant& spec, std::uint32_t index, double concat_cost) {
  TenantProgram tenant;
  tenant.tenant = index;
  tenant.spec = &spec;
  tenant.priority = deployed.priority;
  tenant.process = deployed.process;
  tenant.range = range;
  const GpuShare share{range.count > 0 ? range.count : slice.sms, slice.hbm};
  auto pointer = deployed.pointers.begin();
  for (std::uint32_t k = 0; k < spec.kernels.size(); ++k) {
    for (; pointer != deployed.pointers.end() && *pointer <= k; ++pointer) {
      tenant.pointers.push_back(static_cast<std::uint32_t>(tenant.kernels.size()));
    }
    append_kernel(tenant, k, deployed.pieces.empty() ? 1 : deployed.pieces[k], gpu, share, concat_cost);
  }
  tenant.pointers.resize(deployed.pointers.size(), static_cast<std::uint32_t>(tenant.kernels.size()));
  tenant.left.resize(tenant.kernels.size() + 1);
  for (std::size_t k = tenant.kernels.size(); k-- > 0;) {
    tenant.left[k] = tenant.left[k + 1] + tenant.kernels[k].time();
  }
  program.tenants.push_back(std::move(tenant));
}

/// Where the pieces of so many blocks end.
std::vector<std::int64_t> piece_ends(std::int64_t blocks, std::uint32_t pieces) {
  if (blocks > 1 && (pieces == kQuarterFirst || pieces == kQuarterLast)) {
    const std::int64_t quarter = std::max<std::int64_t>(1, blocks / 4);
    return {pieces == kQuarterFirst ? quarter : blocks - quarter, blocks};
  }
  const std::int64_t count = std::clamp<std::int64_t>(pieces, 1, blocks);
  std::vector<std::int64_t> ends;
  for (std::int64_t piece = 1; piece <= count; ++piece) ends.push_back(blocks * piece / count);
  return ends;
}

}  // namespace

void append_kernel(TenantProgram& program, std::uint32_t index, std::uint32_t pieces, const GpuSpec& gpu,
                   GpuShare share, double concat_cost) {
  const TenantKernel& kernel = program.spec->kernels[index];
  DeviceKernel whole = device_kernel(kernel.cost, gpu, share);
  whole.kind = class_of(kernel, gpu);
  const std::vector<std::int64_t> ends = piece_ends(whole.blocks, pieces);
  std::int64_t from = 0;
  for (const std::int64_t end : ends) {
    DeviceKernel part = whole;
    part.blocks = end - std::exchange(from, end);
    part.waves = (part.blocks + part.full_wave - 1) / part.full_wave;
    program.kernels.push_back(part);
    program.whole.push_back(index);
  }
  if (ends.size() == 1 || concat_cost <= 0) return;
  const Bytes output = kernel.output > Bytes(0.0) ? kernel.output : kernel.cost.hbm_bytes / 3.0;
  program.kernels.push_back(copy_kernel(concat_cost * output, gpu, share));
  program.whole.push_back(index);
}

std::vector<SliceProgram> build_programs(const TenantSet& set, const Deployment& deployment) {
  TESSERA_ASSERT(deployment.tenants.size() == set.tenants.size(), "a deployment of every tenant");
  std::vector<SliceProgram> programs;
  std::vector<Caps> caps;
  for (const GpuSlice& slice : deployment.slices) {
    programs.push_back({as_gpu(set.gpu, slice), {}, deployment.pointer_cost});
    caps.emplace_back(slice.sms);
  }
  for (std::uint32_t t = 0; t < set.tenants.size(); ++t) {
    const TenantDeployment& deployed = deployment.tenants[t];
    TESSERA_ASSERT(deployed.slice < programs.size(), "a tenant's slice exists");
    const SmRange range = caps[deployed.slice].range(deployed.sm_cap);
    add_tenant(programs[deployed.slice], set.gpu, deployment.slices[deployed.slice], deployed, range, set.tenants[t], t,
               deployment.concat_cost);
  }
  return programs;
}

}  // namespace tessera
