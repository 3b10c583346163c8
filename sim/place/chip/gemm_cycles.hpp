// Cycles and traffic of a matrix product on a systolic chip.
#pragma once

#include <cstdint>

#include "sim/place/chip/chip_rules.hpp"
#include "sim/place/chip/layer_graph.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {

/// Words from the buffer for each word between SRAM and the arrays: 0.3 to 1.5 on the recorded mappings of linear
/// layers.
inline constexpr double kBufferShare = 0.5;
/// Words a cycle between the buffer and all cores: the public fork's.
inline constexpr double kBufferWords = 4096;

struct GemmCost {
  double cycles = 0;      // HBM's part included
  double sram_words = 0;  // between SRAM and the arrays, all cores
  Bytes hbm;              // moved by the whole product
};

/// Product on `cores` tensor cores of the chip, alone on it.
/// Compatible: the roofline of the original's mapper, max(MACs / PEs, reads / 64, writes / 64 words a cycle) with its
/// tiles; exact on 95.7 % of the recorded mappings, within 20 % on the rest but 256 x 256 arrays with 2 MiB, whose
/// mappings degenerate. Corrected: the same roofline with free tiles, arrays padded, a port for each core, HBM traffic
/// for the buffer's capacity. Not modelled: filling and draining the arrays, bank conflicts of the buffer.
GemmCost gemm_cost(const SystolicChip& chip, const GemmWork& work, int cores, const ChipRules& rules);

}  // namespace tessera
