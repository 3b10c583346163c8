// The systolic accelerator template: tensor cores, vector cores, one global buffer, HBM; its area and energies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/amount.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// A chip of Phaze's template (arXiv 2407.13143, table 1): `tensor_cores` arrays of width x depth 16-bit MACs and
/// `vector_cores` of `lanes` lanes, each with its SRAM, behind one global buffer. `hbm_stacks` is our addition: 0
/// stands for the original's fixed bandwidth, which costs no area.
struct SystolicChip {
  int tensor_cores = 1, vector_cores = 1;
  int width = 1, depth = 1;
  int lanes = 1;  // of a vector core; Phaze's grid has lanes == width
  Bytes buffer{};
  int hbm_stacks = 0;
  friend bool operator==(const SystolicChip&, const SystolicChip&) = default;
};

/// "4x256x256 + 256x256, 8 MiB" (and ", 4 HBM").
std::string describe(const SystolicChip& chip);

/// SRAM of one core: 16 bytes a MAC or lane, at least 1 KiB.
Bytes tensor_sram(const SystolicChip& chip);
Bytes vector_sram(const SystolicChip& chip);

/// Exact linear model of the published areas (22 nm, Accelergy and CACTI): MACs with their registers, SRAMs, global
/// buffer, and, beyond the original, one PHY per HBM stack. Buffers other than 2, 4, .. 128, 160, 256 MiB are
/// interpolated on log-log scales.
Area area(const SystolicChip& chip);

/// The part of the die's edge that HBM PHYs take, as a ratio of two opposite edges of a square die of this area; above
/// 1 the stacks do not fit.
double beachfront_ratio(const SystolicChip& chip);

/// 268.8 GB/s (128 words of 2 bytes a cycle at 1.05 GHz) with no stacks given, else 300 GB/s a stack.
BytesPerSec hbm_bandwidth(const SystolicChip& chip);

inline constexpr Hertz kSystolicClock{1.05e9};
inline constexpr Bytes kSystolicWord{2};

/// Energy of one 16-bit access by level, and of a multiply-add; recovered from a public log, interpolated on log-log
/// scales between the sizes seen there.
struct SystolicEnergy {
  Joules mac, register_word, sram_word, buffer_word, dram_word;
};
SystolicEnergy energy(const SystolicChip& chip);

struct NamedChip {
  std::string_view name;
  SystolicChip chip;
};
/// TPUv4-like (Phaze's area limit), TPUv3-, TPUv2-, v6-, v7-like of a public course fork, A100-like.
std::span<const NamedChip> baseline_chips();
const SystolicChip& baseline_chip(std::string_view name);  // a bug where there is none

}  // namespace tessera
