// Whether a GPU can run a kernel at all.
#pragma once

#include "sim/cluster/gpu.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

/// Throws RunError naming dtype and GPU, or the mistake in the shape.
void require_supported(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace tessera
