// Which generation of FlashAttention a framework runs: a data sheet does not say, and a newer GPU runs old kernels
// slow.
#pragma once

#include <cstdint>
#include <span>

#include "models/kernel_cost.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

/// newest: the best there is for the GPU's matrix units, which is what the attention families are fitted on.
enum class FlashGeneration : std::uint8_t { newest, second, first };

/// Share of the GPU's peak that the newest generation reaches over that of `generation`, as their papers state them:
/// the first 25-40 % and the second 50-73 % of A100 (Dao, arXiv 2307.08691, abstract and section 1); the second 35 %,
/// the third 75 % of H100 (Shah et al., arXiv 2407.08608, abstract). Blackwell is newer than both: frameworks run
/// cuDNN's kernels there. Not modelled: head sizes, lengths, forward and backward apart, cuDNN on H100.
double flash_slowdown(FlashGeneration generation, const GpuSpec& gpu);

/// Prices training's attention kernels (one for all of it, and its backward) as those of `generation`.
void use_flash_generation(FlashGeneration generation, const GpuSpec& gpu, std::span<const Kernel> kernels,
                          CostTable& costs);

}  // namespace tessera
