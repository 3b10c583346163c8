// Mixture-of-experts layers: the row of the family table.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

inline constexpr std::array<std::string_view, 9> kMoeInputs{"log_memory_over_base",
                                                            "log_base_over_floor",
                                                            "log_rounds",
                                                            "log_rows_per_expert",
                                                            "log_active_experts",
                                                            "log_hidden",
                                                            "log_inter",
                                                            "log_topk",
                                                            "gated"};

/// Order of kMoeConstants.
enum class MoeConstant : std::uint8_t { floor, floor_cycles, grouped_share, shuffles };
inline constexpr std::array kMoeConstants{
    // Routing, sorting, scattering and gathering are kernels of their own: what the smallest layer takes.
    NamedConstant{"floor_s", 10e-6}, NamedConstant{"floor_cycles", 8000},
    // Grouped GEMMs reach this share of a single one's speed: experts differ in tokens, tiles end in part.
    NamedConstant{"grouped_share", 0.75}, NamedConstant{"shuffles", 1},  // passes over the tokens' rows
};

KernelAnalysis analyse_moe(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

}  // namespace tessera
