// Tenants as a deployment cuts them: kernels in blocks for their share of the GPU, pieces, segments.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/dispatch/block_scheduler.hpp"
#include "sim/dispatch/deployment.hpp"
#include "sim/dispatch/device_kernel.hpp"

namespace tessera {

struct TenantProgram {
  std::uint32_t tenant = 0;  // position in the scenario
  const Tenant* spec = nullptr;
  int priority = 0;
  std::uint32_t process = 0;
  SmRange range{};
  std::vector<DeviceKernel> kernels{};    // of a request, pieces and concatenations included
  std::vector<std::uint32_t> whole{};     // the tenant's kernel that each belongs to
  std::vector<Seconds> left{};            // alone, from kernel i to the end; one more entry: 0
  std::vector<std::uint32_t> pointers{};  // positions in `kernels`
};

/// Those of one slice.
struct SliceProgram {
  GpuSpec gpu;  // the slice as a GPU
  std::vector<TenantProgram> tenants;
  Seconds pointer_cost{};
};

/// Parallel to the deployment's slices.
std::vector<SliceProgram> build_programs(const TenantSet& tenants, const Deployment& deployment);

/// Pieces of a kernel are ranges of its blocks; then their outputs are concatenated: read and written once.
/// Appends to the program.
void append_kernel(TenantProgram& program, std::uint32_t kernel, std::uint32_t pieces, const GpuSpec& gpu,
                   GpuShare share, double concat_cost = 1);

}  // namespace tessera
