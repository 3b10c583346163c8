// MIG's slices: which a GPU has, and what each gets.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/deployment.hpp"

namespace tessera {

/// As "1g" ... "7g", of which the GPU can be made; none where it has no MIG. SM counts of A100, A30 and H100 are
/// NVIDIA's (MIG user guide); other GPUs of these generations get sevenths of their SMs, rounded down to pairs.
std::vector<GpuSlice> mig_slices(const GpuSpec& gpu);
std::optional<GpuSlice> find_mig_slice(const GpuSpec& gpu, std::string_view name);

}  // namespace tessera
