// Fused attention: rows of the family table for many new tokens (and the backward) and for one.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

// matrix_unit_class: 0 mma.sync (or none), 1 wgmma, 2 tcgen05. Kernels are written anew for each.
inline constexpr std::array<std::string_view, 11> kPrefillInputs{"log_memory_over_base",
                                                                 "log_exp_over_base",
                                                                 "log_longest_over_base",
                                                                 "log_rounds",
                                                                 "log_round_fill",
                                                                 "log_q_len",
                                                                 "log_group",
                                                                 "log_batch_heads",
                                                                 "log_head_dim",
                                                                 "log_base_over_floor",
                                                                 "matrix_unit_class"};
inline constexpr std::array<std::string_view, 10> kDecodeInputs{
    "log_base_over_floor", "log_memory_over_base", "log_blocks_over_base", "log_kv_len", "log_batch",
    "log_group",           "log_kv_heads",         "log_head_dim",         "log_splits", "matrix_unit_class"};

// Floor: attention of a serving runtime is several small kernels (cache append, rotary, splits). Clock cycles: what a
// block costs its SM besides arithmetic, fixed and per 64 keys, and the latency of a step of 64 keys. Last: the
// reduction over splits.
inline constexpr std::array kPrefillConstants{NamedConstant{"floor_s", 4e-6}, NamedConstant{"floor_cycles", 7600},
                                              NamedConstant{"block_cycles", 2000},
                                              NamedConstant{"step_latency_cycles", 700}};
inline constexpr std::array kDecodeConstants{
    NamedConstant{"floor_s", 3.5e-6},  NamedConstant{"floor_cycles", 6700},       NamedConstant{"block_cycles", 6000},
    NamedConstant{"step_cycles", 300}, NamedConstant{"step_latency_cycles", 400}, NamedConstant{"reduction_s", 3e-6}};

KernelAnalysis analyse_prefill(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
KernelAnalysis analyse_decode(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

}  // namespace tessera
