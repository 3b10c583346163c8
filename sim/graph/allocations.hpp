// Device allocations of a step that starts with an empty caching allocator, as PyTorch's makes them; pure.
#pragma once

#include <vector>

#include "sim/graph/plan.hpp"

namespace tessera {

/// Segments (calls of cudaMalloc) that each task waits for on the host. The allocator (c10/cuda, CUDACachingAllocator)
/// rounds: up to 1 MiB out of segments of 2 MiB, up to 10 MiB out of 20 MiB, above a segment of its own in steps of
/// 2 MiB; free blocks serve first, the smallest that fits, the rest of a block staying free. A forward kernel allocates
/// its result, which is kept where backward needs it (inputs of products, norms, powers and activations; results of
/// softmax, tanh and relu; copies) and freed behind the next kernel otherwise. Not modelled: dropout's masks apart,
/// blocks that merge again, segments of backward (it reuses what it frees) and of later micro-batches.
std::vector<int> segments_from_empty(const Plan& plan);

}  // namespace tessera
