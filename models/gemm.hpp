// Matrix multiplications: what the rows of the two families need.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

inline constexpr std::array<std::string_view, 16> kGemmInputs{
    "compute_share", "inverse_rounds", "round_fill",    "useful_share", "m_share",       "n_share",
    "k_share",       "batch_share",    "log_tile_m",    "log_tile_n",   "inverse_split", "base_share",
    "l2_share",      "unaligned",      "log_occupancy", "bias"};

inline constexpr std::array kGemmSimtConstants{NamedConstant{"eager_floor_s", 40e-6}};
inline constexpr std::array kGemmMatrixConstants{NamedConstant{"eager_floor_s", 10e-6}};

}  // namespace tessera
