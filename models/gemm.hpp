// Matrix multiplications: what the rows of the two families need.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

inline constexpr std::array<std::string_view, 17> kGemmInputs{"log_compute_over_memory",
                                                              "log_l2_over_compute",
                                                              "log_rounds",
                                                              "log_round_fill",
                                                              "log_padding",
                                                              "log_m",
                                                              "log_n",
                                                              "log_k",
                                                              "log_batch",
                                                              "log_tile_m",
                                                              "log_tile_n",
                                                              "log_split_k",
                                                              "log_base_over_floor",
                                                              "log_traffic_over_l2",
                                                              "unaligned",
                                                              "log_occupancy",
                                                              "bias"};

inline constexpr std::array kGemmSimtConstants{NamedConstant{"eager_floor_s", 40e-6}};
inline constexpr std::array kGemmMatrixConstants{NamedConstant{"eager_floor_s", 10e-6}};

}  // namespace tessera
