// The set of chips that a search walks: a grid, cut by area.
#pragma once

#include <vector>

#include "sim/place/chip/systolic.hpp"

namespace tessera {

/// Powers of two in [low, high].
struct PowerRange {
  int low = 1, high = 1;
};

/// Defaults are Phaze's: 75,712 points, 29,360 of them within the area limits.
struct ChipSpace {
  PowerRange tensor_cores{1, 4096}, vector_cores{1, 4096};
  PowerRange width{2, 256}, depth{2, 256};
  PowerRange buffer_MiB{2, 128};
  std::vector<int> hbm_stacks{0};
  Area area_limit{};            // of the whole die
  double smallest_ratio = 0.3;  // of the limit; waived for chips with one tensor or one vector core
};

/// Phaze's grid under the area of its TPUv4-like chip.
ChipSpace phaze_space();

/// The chips inside the limits, largest counts first (tensor cores, vector cores, width, depth, buffer, stacks), as
/// Phaze lists them. Stacks that do not fit the die's edge are left out.
std::vector<SystolicChip> enumerate(const ChipSpace& space);

}  // namespace tessera
