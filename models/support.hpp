// Whether a GPU can run a kernel at all.
#pragma once

#include <optional>
#include <string>

#include "sim/cluster/gpu.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

/// What is wrong with this dtype on this GPU: which ones it has.
std::optional<std::string> dtype_error(Dtype dtype, const GpuSpec& gpu);

/// Throws RunError naming dtype and GPU, or the mistake in the shape.
void require_supported(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace tessera
