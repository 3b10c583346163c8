#include "sim/place/chip/space.hpp"

namespace tessera {
namespace {

bool within_limits(const SystolicChip& chip, const ChipSpace& space) {
  const Area size = area(chip);
  if (size > space.area_limit || beachfront_ratio(chip) > 1) return false;
  return chip.tensor_cores == 1 || chip.vector_cores == 1 || size >= space.area_limit * space.smallest_ratio;
}

/// The powers of two of a range, largest first.
std::vector<int> values(PowerRange range) {
  std::vector<int> result;
  for (int v = range.high; v >= range.low; v /= 2) {
    result.push_back(v);
    if (v == 1) break;
  }
  return result;
}

/// Chips that differ in their arrays, buffer and stacks only.
void add_arrays(const ChipSpace& space, SystolicChip chip, std::vector<SystolicChip>& chips) {
  for (const int width : values(space.width))
    for (const int depth : values(space.depth))
      for (const int buffer : values(space.buffer_MiB))
        for (const int stacks : space.hbm_stacks) {
          chip.width = chip.lanes = width;
          chip.depth = depth;
          chip.buffer = Bytes(buffer * 1048576.0);
          chip.hbm_stacks = stacks;
          if (within_limits(chip, space)) chips.push_back(chip);
        }
}

}  // namespace

ChipSpace phaze_space() {
  return {.area_limit = area(baseline_chip("TPUv4-like"))};
}

std::vector<SystolicChip> enumerate(const ChipSpace& space) {
  std::vector<SystolicChip> chips;
  for (const int tensor_cores : values(space.tensor_cores))
    for (const int vector_cores : values(space.vector_cores))
      add_arrays(space, {.tensor_cores = tensor_cores, .vector_cores = vector_cores}, chips);
  return chips;
}

}  // namespace tessera
