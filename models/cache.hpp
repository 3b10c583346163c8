// What L2 keeps: its usable size, and how sharply a working set spills.
#pragma once

#include "sim/cluster/gpu.hpp"

namespace tessera {

/// L2 as one SM sees it. HBM parts of Ampere and later have two partitions, and lines read from the far one are kept in
/// both (NVIDIA A100 white paper); NeuSight's softmax and layernorm rows spill at half the nominal size there.
Bytes usable_l2(const GpuSpec& gpu);

/// Share of a working set that does not stay in `capacity`: 1/2 where both are equal.
double spilled_share(Bytes working_set, Bytes capacity, double sharpness);

}  // namespace tessera
