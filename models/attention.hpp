// Fused attention: rows of the family table for many new tokens (and the backward), for one, and for latent attention.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

inline constexpr std::array<std::string_view, 12> kPrefillInputs{
    "log_memory_over_base", "log_exp_over_base",   "log_longest_over_base",
    "log_rounds",           "log_round_fill",      "log_q_len",
    "log_kv_len",           "log_group",           "log_batch_heads",
    "log_head_dim",         "log_base_over_floor", "matrix_unit_class"};
inline constexpr std::array<std::string_view, 12> kDecodeInputs{"log_base_over_floor",
                                                                "log_memory_over_base",
                                                                "log_blocks_over_base",
                                                                "log_kv_len",
                                                                "log_batch",
                                                                "log_group",
                                                                "grouped",
                                                                "log_kv_heads",
                                                                "log_head_dim",
                                                                "log_splits",
                                                                "log_blocks_per_sm",
                                                                "matrix_unit_class"};
inline constexpr std::array<std::string_view, 9> kMlaDecodeInputs{
    "log_base_over_floor", "log_memory_over_base", "log_compute_over_base", "log_kv_len",       "log_batch",
    "log_heads",           "log_splits",           "log_tiles_per_sm",      "matrix_unit_class"};

/// Order of kPrefillConstants.
enum class PrefillConstant : std::uint8_t {
  floor,
  floor_cycles,
  block,
  step_latency,
  rate_share,
  register_fed_share,
  exponentials,
  trtllm_share,
  wide_share,
  memory_time,
};
inline constexpr std::array kPrefillConstants{
    // The attention of a serving runtime is several small kernels (cache append, rotary, the attention itself).
    NamedConstant{"floor_s", 6e-6},
    NamedConstant{"floor_cycles", 8000},
    // What a block costs its SM besides arithmetic, and the latency of 64 keys: memory's, so in seconds.
    NamedConstant{"block_s", 2.5e-6},
    NamedConstant{"step_latency_s", 0.2e-6},
    // Share of the sustained rate that the two GEMMs reach by themselves; of that, kernels fed from registers,
    // TensorRT-LLM's, and those of heads wider than 256.
    NamedConstant{"rate_share", 0.95},
    NamedConstant{"register_fed_share", 0.8},
    NamedConstant{"exponentials", 1},
    NamedConstant{"trtllm_share", 0.87},
    NamedConstant{"wide_share", 0.6},
    // Of compulsory traffic: the cache is written and read back.
    NamedConstant{"memory_time", 1.6},
};

/// Order of kDecodeConstants.
enum class DecodeConstant : std::uint8_t {
  floor,
  floor_cycles,
  block,
  block_per_128,
  step,
  step_latency,
  unsplit_step,
  reduction_cycles,
  overlapped_reduction,
  lanes_block_cycles,
  pipelined,
  cache_bandwidth_share,
  regrouped_l2_share,
};
inline constexpr std::array kDecodeConstants{
    NamedConstant{"floor_s", 6e-6},
    NamedConstant{"floor_cycles", 5500},
    // What a block costs its SM: memory latency, so seconds; fixed, for a head of 128, and for each 64 keys of it.
    NamedConstant{"block_s", 2.5e-6},
    NamedConstant{"block_s_per_128", 1e-6},
    NamedConstant{"step_s", 0.15e-6},
    // Latency of 64 keys, with the keys split over blocks and (head of 128) without.
    NamedConstant{"step_latency_s", 0.25e-6},
    NamedConstant{"unsplit_step_s", 1.3e-6},
    // The reduction over splits; where dependent launches overlap (wgmma and later), this share of it.
    NamedConstant{"reduction_cycles", 7000},
    NamedConstant{"overlapped_reduction", 0.4},
    // Blocks that multiply on fp32 lanes, per 128 of head width, plus as much.
    NamedConstant{"lanes_block_cycles", 1300},
    // Blocks that load the next tile under the present one (tcgen05): share of the costs above.
    NamedConstant{"pipelined", 0.5},
    NamedConstant{"cache_bandwidth_share", 0.95},
    // Heads that each read their group's keys again, from L2.
    NamedConstant{"regrouped_l2_share", 0.55},
};

/// Order of kMlaDecodeConstants.
enum class MlaDecodeConstant : std::uint8_t {
  floor,
  floor_cycles,
  tile,
  step_latency,
  unsplit_step_cycles,
  reduction_cycles,
  rate_share,
  cache_bandwidth_share,
};
inline constexpr std::array kMlaDecodeConstants{
    NamedConstant{"floor_s", 6e-6},
    NamedConstant{"floor_cycles", 5500},
    NamedConstant{"tile_s", 1e-6},
    NamedConstant{"step_latency_s", 0.3e-6},
    NamedConstant{"unsplit_step_cycles", 11000},
    NamedConstant{"reduction_cycles", 4000},
    NamedConstant{"rate_share", 0.8},
    NamedConstant{"cache_bandwidth_share", 0.95},
};

/// Also of mla_prefill, whose heads have keys and values of their own.
KernelAnalysis analyse_prefill(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
KernelAnalysis analyse_decode(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
KernelAnalysis analyse_mla_decode(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

}  // namespace tessera
