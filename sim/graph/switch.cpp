// Switch Transformers: T5's encoder and decoder with every few feed-forward layers a set of experts, one for each
// token.
#include "sim/graph/architectures.hpp"
#include "sim/graph/attention.hpp"

namespace tessera {

namespace {

enum class Stack : std::uint8_t { encoder, decoder };

std::int64_t inner(const ModelConfig& c) {
  return c.heads * c.head_dim;
}

/// Buckets of the relative distances, computed anew in every forward: integer and float kernels on [s, s].
void position_bias(GraphBuilder& b, Stack stack) {
  const ModelConfig& c = b.config;
  const std::int64_t s = b.options.sequence, n = s * s, scores = b.options.batch * c.heads * n;
  const int kernels = stack == Stack::encoder ? 15 : 14;
  for (int i = 0; i < kernels; ++i) b.forward({.name = "position buckets", .kernel = b.memory(n, n)});
  b.forward({.name = "position buckets", .kernel = b.memory(3 * n, n)});
  b.forward({.name = "position bias", .kernel = {Op::embedding, b.options.dtype, VectorShape{n, c.heads}}});
  const std::int64_t elements = c.relative_buckets * c.heads;
  const ParameterId table = b.parameter("position bias", elements, Split::width);
  Steps steps;
  if (b.options.batch > 1)
    steps.push_back({.name = "position bias", .kernel = b.memory(scores, c.heads * n), .split = Split::heads});
  steps.push_back({.name = "position bias", .kernel = b.memory(0, elements)});
  steps.push_back(
      {.name = "position bias", .kernel = {Op::embedding_backward, b.options.dtype, VectorShape{n, c.heads}}});
  b.complete(steps, table);
  b.backward(steps);
  // The mask is added once: the sum is what the layers share.
  b.forward(
      {.name = "position bias", .kernel = b.memory(c.heads * n + b.options.batch * n, scores), .split = Split::heads});
}

/// Cross-attention has no relative positions: zeros, to which the mask is added.
void zero_bias(GraphBuilder& b) {
  const std::int64_t scores = b.options.batch * b.config.heads * b.options.sequence * b.options.sequence;
  b.forward({.name = "position bias", .kernel = b.memory(0, scores), .split = Split::heads});
  b.forward({.name = "position bias", .kernel = b.memory(scores, scores), .split = Split::heads});
}

void attention(GraphBuilder& b, bool cross, bool causal, bool first) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens(), s = b.options.sequence;
  b.norm(cross ? "cross-attention norm" : "attention norm", t);
  Linear l{.name = "attention query", .rows = t, .in = c.hidden, .out = inner(c), .parallel = Parallel::column};
  if (!cross) b.branch("attention input gradient", t, c.hidden, 3, true);
  l.sums_over_tp = cross;
  b.linear(l);
  l.sums_over_tp = false;  // of the encoder's output: summed where it branches
  l.name = "attention key";
  b.linear(l);
  l.name = "attention value";
  b.linear(l);
  if (b.flash()) {
    flash_attention(b, s, s, causal);
  } else {
    split_heads(b, 3);
    if (first && cross) zero_bias(b);
    if (first && !cross) position_bias(b, causal ? Stack::decoder : Stack::encoder);
    eager_attention(b, {.q_len = s,
                        .kv_len = s,
                        .scale = false,
                        .position_bias = true,
                        .bias_has_gradient = !cross && !first,
                        .wide_softmax = true,
                        .dropout = c.attention_dropout});
  }
  b.linear({.name = "attention output", .rows = t, .in = inner(c), .out = c.hidden, .parallel = Parallel::row});
}

void router(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens();
  const auto moves = [&](std::int64_t read, std::int64_t written) {
    return Step{.name = "router", .kernel = b.memory(read, written)};
  };
  const Step jitter{.name = "router", .kernel = b.vector(Op::mul, t, c.hidden)};
  if (b.training()) {
    b.forward(moves(0, t * c.hidden));
    b.forward(jitter);
    b.backward({jitter});
  }
  b.linear({.name = "router", .rows = t, .in = c.hidden, .out = c.experts});
  const Step product{.name = "router", .kernel = b.vector(Op::mul, t, c.experts)};
  b.forward({.name = "router", .kernel = b.vector(Op::softmax, t, c.experts)});
  const std::int64_t n = t * c.experts;
  // argmax, one-hot, running count, capacity test, product, maximum, argmax
  for (const Step& step : {moves(n, t), moves(t, n), moves(n, n), moves(n, n), product, moves(n, t), moves(n, t)}) {
    b.forward(step);
  }
  b.backward({moves(t, n), product, {.name = "router", .kernel = b.vector(Op::softmax_backward, t, c.experts)}});
}

/// Each expert takes its tokens into a buffer of fixed capacity; all rows of the buffer are computed.
void experts(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens(), hidden = t * c.hidden;
  const std::int64_t rows = b.options.batch * c.expert_capacity, n = rows * c.hidden;
  const Bytes sum = b.size(hidden);
  const auto moves = [&](std::string_view name, std::int64_t read, std::int64_t written, bool summed = false) {
    return Step{
        .name = std::string(name), .kernel = b.memory(read, written), .reduced_over_tp = summed ? sum : Bytes(0)};
  };
  b.forward(moves("expert output", hidden, hidden));
  for (std::int64_t i = 0; i < c.experts; ++i) {
    b.forward(moves("expert tokens", t, t));
    b.forward(moves("expert tokens", t, 1));
    const Step gather = moves("expert gather", n, n);
    for (const Step& step : {moves("expert gather", 0, n), gather, gather}) b.forward(step);
    Step gradient_sum{.name = "expert gather", .kernel = b.vector(Op::add, t, c.hidden)};
    gradient_sum.reduced_over_tp = i == 0 ? sum : Bytes(0);
    b.backward({moves("expert gather", 0, hidden), gather, gradient_sum});
    feed_forward(b, {.rows = rows, .width = c.expert_ffn, .inner_dropout = c.dropout, .sums_over_tp = false});
    b.forward(moves("expert scatter", n, n, i + 1 == c.experts));
    b.backward({moves("expert scatter", hidden, hidden), gather});
  }
  const Step weigh{.name = "expert weight", .kernel = b.vector(Op::mul, t, c.hidden)};
  b.forward(weigh);
  b.backward({weigh, weigh, moves("expert weight", hidden, t)});
}

void feed_forward_block(GraphBuilder& b, bool sparse) {
  const ModelConfig& c = b.config;
  b.norm("feed-forward norm", b.tokens());
  if (!sparse) {
    feed_forward(b, {.rows = b.tokens(), .width = c.ffn, .inner_dropout = c.dropout});
  } else if (b.flash()) {
    mixture_of_experts(b);
  } else {
    b.branch("expert input gradient", b.tokens(), c.hidden, 2);
    router(b);
    experts(b);
  }
}

void block(GraphBuilder& b, const auto& body) {
  b.branch("residual gradient", b.tokens(), b.config.hidden, 2);
  body();
  residual(b, 1);
}

void stack(GraphBuilder& b, Stack kind, std::int64_t first_layer, std::int64_t layers) {
  const ModelConfig& c = b.config;
  const bool decoder = kind == Stack::decoder;
  b.dropout("embedding dropout", b.tokens() * c.hidden, c.dropout);
  for (std::int64_t i = 0; i < layers; ++i) {
    b.set_layer(first_layer + i);
    block(b, [&] { attention(b, false, decoder, i == 0); });
    if (decoder) block(b, [&] { attention(b, true, false, i == 0); });
    block(b, [&] { feed_forward_block(b, i % c.expert_step == 1 % c.expert_step); });
  }
  b.set_layer(-1);
  b.norm(decoder ? "decoder norm" : "encoder norm", b.tokens());
  b.dropout("output dropout", b.tokens() * c.hidden, c.dropout);
}

}  // namespace

void build_switch(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens();
  const ParameterId table = b.embedding("token embedding", t, c.vocab, true, true);
  stack(b, Stack::encoder, 0, c.layers);
  b.branch("encoder output gradient", t, c.hidden, 2 * c.decoder_layers, true);
  b.forward({.name = "token embedding",
             .kernel = b.vector(Op::embedding, t, c.hidden),
             .reduced_over_tp = b.size(t * c.hidden)});
  b.backward({{.name = "token embedding", .kernel = b.vector(Op::embedding_backward, t, c.hidden)}});
  stack(b, Stack::decoder, c.layers, c.decoder_layers);
  if (c.tied_embeddings) {
    const Step scale{.name = "output scale", .kernel = b.vector(Op::mulu, t, c.hidden)};
    b.forward(scale);
    b.backward({scale});
  }
  language_model_head(b, table);
}

}  // namespace tessera
