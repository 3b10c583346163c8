// Self-attention with its projections, as each architecture's module runs it.
#include "sim/graph/architectures.hpp"
#include "sim/graph/attention.hpp"

namespace tessera {

namespace {

std::int64_t query_width(const ModelConfig& c) {
  return c.heads * c.head_dim;
}
std::int64_t kv_width(const ModelConfig& c) {
  return c.kv_heads * c.head_dim;
}

bool fused_qkv(const GraphBuilder& b) {
  return b.flash() || b.config.architecture == "gpt2" || b.config.architecture == "gpt_neox";
}

void projections(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens();
  Linear l{.rows = t, .in = c.hidden, .bias = c.qkv_bias, .parallel = Parallel::column};
  if (fused_qkv(b)) {
    l.name = "attention qkv";
    l.out = query_width(c) + 2 * kv_width(c);
    l.share = Share::qkv;
    return b.linear(l);
  }
  b.branch("attention input gradient", t, c.hidden, 3, true);
  l.sums_over_tp = false;
  l.name = "attention query", l.out = query_width(c);
  b.linear(l);
  if (c.architecture == "opt") {
    const Step scale{.name = "attention scale", .kernel = b.vector(Op::mulu, t, query_width(c)), .split = Split::width};
    b.forward(scale);
    b.backward({scale});
  }
  l.share = Share::kv, l.out = kv_width(c);
  l.name = "attention key";
  b.linear(l);
  l.name = "attention value";
  b.linear(l);
}

/// Gradients of the heads back in the projections' layout; a fused projection joins its three.
void heads_backward(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  if (fused_qkv(b)) {
    const std::int64_t n = b.tokens() * (query_width(c) + 2 * kv_width(c));
    b.backward(
        {{.name = "attention head gradient", .kernel = b.memory(n, n), .split = Split::heads, .share = Share::qkv}});
  }
  split_heads(b, 3);
}

void query_key_norms(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  if (!c.qk_norm) return;
  b.rmsnorm("query norm", b.tokens() * c.heads, c.head_dim, !b.flash(), Split::heads);
  b.rmsnorm("key norm", b.tokens() * c.kv_heads, c.head_dim, !b.flash(), Split::heads, Share::kv);
}

void attention_core(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t s = b.options.sequence;
  if (b.flash()) {
    query_key_norms(b);
    rotary(b);
    if (!b.training() && c.causal) b.copy("kv cache", 2 * b.tokens() * kv_width(c), Split::heads, Share::kv);
    if (b.options.attention == AttentionKind::flash) return flash_attention(b, s, s, c.causal);
    heads_backward(b);
    return eager_attention(b, {.q_len = s,
                               .kv_len = s,
                               .scale = false,
                               .fused_softmax = true,
                               .copied_q = true,
                               .copied_kv = true,
                               .dropout = c.attention_dropout});
  }
  heads_backward(b);
  query_key_norms(b);
  rotary(b);
  EagerAttention a{.q_len = s, .kv_len = s, .dropout = c.attention_dropout};
  if (c.architecture == "opt") {
    b.copy("attention keys", b.tokens() * kv_width(c), Split::heads);
    b.copy("attention values", b.tokens() * kv_width(c), Split::heads);
    b.copy("attention queries", b.tokens() * query_width(c), Split::heads);
    a.scale = false, a.mask = ScoreMask::add_square, a.clamp = true, a.copied_q = a.copied_kv = true;
  } else if (c.architecture == "gpt2" || c.architecture == "gpt_neox") {
    a.mask = ScoreMask::where;
    a.scale = c.architecture == "gpt2";  // GPT-NeoX scales inside the batched GEMM
  } else if (c.architecture == "bert") {
    a.mask = ScoreMask::add_per_sample;
  } else {
    repeat_kv(b);
    a.mask = ScoreMask::add_square, a.wide_softmax = true, a.copied_kv = c.kv_heads != c.heads;
  }
  eager_attention(b, a);
}

}  // namespace

void self_attention(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  projections(b);
  attention_core(b);
  b.linear({.name = "attention output",
            .rows = b.tokens(),
            .in = query_width(c),
            .out = c.hidden,
            .bias = c.attention_bias,
            .parallel = Parallel::row});
}

}  // namespace tessera
