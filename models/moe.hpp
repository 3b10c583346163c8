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

// Routing, sorting, scattering and gathering are kernels of their own: what the smallest layer takes.
inline constexpr std::array kMoeConstants{NamedConstant{"floor_s", 15e-6}};

KernelAnalysis analyse_moe(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

}  // namespace tessera
