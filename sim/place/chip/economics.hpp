// What a chip costs to make and to power: rough, one formula for all chips.
#pragma once

#include "sim/base/amount.hpp"
#include "sim/base/units.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {

/// Power that a chip draws whatever it does, over its area: TPUv4's idle 90 W over 600 mm^2 (Jouppi et al., ISCA 2023).
Watts idle_power(const SystolicChip& chip);

/// Dies of a 300 mm wafer that work: area over the wafer less the edge (de Vries 2005), times Murphy's yield at 0.1
/// defects/cm^2.
double good_dies(Area die);

/// A packaged device: its share of a wafer, HBM, and a third on top for package and test. Wafer: 3,677 USD, the 20 nm
/// class (Khan and Mann, AI Chips, CSET 2020, table 9); HBM: 15 USD/GB, an assumption. Not modelled: design and mask
/// costs, salvaged dies, margins.
Money price(const SystolicChip& chip, Bytes memory);

}  // namespace tessera
