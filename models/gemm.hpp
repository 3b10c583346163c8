// Matrix multiplications: what the rows of the two families need.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

inline constexpr std::array<std::string_view, 20> kGemmInputs{
    "compute_share", "inverse_rounds", "round_fill",        "useful_share",  "m_share",    "n_share",       "k_share",
    "batch_share",   "log_tile_m",     "log_tile_n",        "inverse_split", "base_share", "l2_share",      "unaligned",
    "log_occupancy", "single",         "log_fma_per_clock", "mfma",          "log_narrow", "quantise_share"};

// The order is that of GemmNumbers in gemm.cpp.
inline constexpr std::array kGemmSimtConstants{
    NamedConstant{"half_side", 12},         NamedConstant{"start_cycles", 3000},
    NamedConstant{"tile_cycles", 1000},     NamedConstant{"reduction_cycles", 2000},
    NamedConstant{"l2_share", 1.0},         NamedConstant{"memory_share", 1.0},
    NamedConstant{"l2_fill", 0.85},         NamedConstant{"floor_s", 1e-6},
    NamedConstant{"floor_cycles", 1500},    NamedConstant{"eager_floor_s", 40e-6},
    NamedConstant{"quantise_share", 0.5},   NamedConstant{"quantise_floor_s", 1e-6},
    NamedConstant{"quantise_cycles", 1300}, NamedConstant{"store_share", 1.0},
    NamedConstant{"visit_cycles", 0.5}};
inline constexpr std::array kGemmMatrixConstants{
    NamedConstant{"half_side", 12},         NamedConstant{"start_cycles", 2500},
    NamedConstant{"tile_cycles", 1000},     NamedConstant{"reduction_cycles", 2000},
    NamedConstant{"l2_share", 1.0},         NamedConstant{"memory_share", 1.0},
    NamedConstant{"l2_fill", 0.85},         NamedConstant{"floor_s", 1e-6},
    NamedConstant{"floor_cycles", 1500},    NamedConstant{"eager_floor_s", 10e-6},
    NamedConstant{"quantise_share", 0.5},   NamedConstant{"quantise_floor_s", 1e-6},
    NamedConstant{"quantise_cycles", 1300}, NamedConstant{"store_share", 1.0},
    NamedConstant{"visit_cycles", 0.5}};

}  // namespace tessera
