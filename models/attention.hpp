// Fused attention: rows of the family table for many new tokens (and the backward) and for one.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

inline constexpr std::array<std::string_view, 13> kPrefillInputs{"log_memory_over_compute",
                                                                 "log_exp_over_compute",
                                                                 "log_longest_over_mean",
                                                                 "log_rounds",
                                                                 "log_round_fill",
                                                                 "log_q_len",
                                                                 "log_kv_over_q",
                                                                 "log_group",
                                                                 "log_batch_heads",
                                                                 "log_head_dim",
                                                                 "log_base_over_floor",
                                                                 "log_kv_over_l2",
                                                                 "log_padding"};
inline constexpr std::array<std::string_view, 12> kDecodeInputs{"log_base_over_floor", "log_compute_over_memory",
                                                                "log_l2_over_memory",  "log_rounds",
                                                                "log_round_fill",      "log_kv_len",
                                                                "log_batch",           "log_group",
                                                                "log_kv_heads",        "log_head_dim",
                                                                "log_kv_over_l2",      "log_splits"};

// Attention of a serving runtime is several small kernels (cache append, splits, reduction): what the smallest takes.
inline constexpr std::array kPrefillConstants{NamedConstant{"floor_s", 8e-6}};
inline constexpr std::array kDecodeConstants{NamedConstant{"floor_s", 7e-6}};

KernelAnalysis analyse_prefill(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
KernelAnalysis analyse_decode(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

}  // namespace tessera
