// The attention cores, between the projections: kernel by kernel as eager frameworks run them, or one flash kernel.
#pragma once

#include "sim/graph/builder.hpp"

namespace tessera {

enum class ScoreMask : std::uint8_t {
  none,
  where,           // select with a constant causal mask
  add_per_sample,  // add a mask of one row for each sample
  add_square,      // add a mask of queries x keys for each sample
};

struct EagerAttention {
  std::int64_t q_len = 0, kv_len = 0;
  bool scale = true;  // a kernel divides or multiplies the scores
  ScoreMask mask = ScoreMask::none;
  bool clamp = false;                        // OPT: maximum with the lowest float
  bool position_bias = false;                // T5: adds a bias of the scores' shape
  bool bias_has_gradient = false;            // which is summed over the layers
  bool wide_softmax = false;                 // in fp32 with casts
  bool fused_softmax = false;                // one kernel with scale and mask, and one backward
  bool copied_q = false, copied_kv = false;  // operands already lie as batched GEMMs want them
  double dropout = 0;
};

/// Scores, mask, softmax, dropout, values and the copy that merges the heads; forward and its backward.
void eager_attention(GraphBuilder& b, const EagerAttention& attention);

/// One kernel; of a sequence that `BuildOptions::context` ranks share, one for each part of it. Ring attention (arXiv
/// 2310.01889), every rank holding an early and a late part: of its own it computes the unmasked half, of the keys and
/// values of any other rank the half that its queries see, while the next ones come round the ring. Backward passes
/// the gradients of keys and values on, too.
void flash_attention(GraphBuilder& b, std::int64_t q_len, std::int64_t kv_len, bool causal);

/// Rotary positions on queries and keys: five kernels each, or one for both.
void rotary(GraphBuilder& b);

/// Keys and values repeated for each query head of their group (eager attention with fewer kv heads).
void repeat_kv(GraphBuilder& b);

/// Backward of viewing a projection's output as heads: each of `tensors` gradients is copied into [tokens, width].
void split_heads(GraphBuilder& b, std::int64_t tensors);

}  // namespace tessera
