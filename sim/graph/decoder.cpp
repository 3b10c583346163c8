// Decoder-only transformers: GPT-2, GPT-NeoX, OPT, Llama and what descends from it.
#include "sim/graph/architectures.hpp"

namespace tessera {

namespace {

void attention_block(GraphBuilder& b) {
  b.norm("attention norm", b.tokens());
  self_attention(b);
}

void feed_forward_block(GraphBuilder& b) {
  b.norm("feed-forward norm", b.tokens());
  if (b.config.experts > 0) return mixture_of_experts(b);
  feed_forward(b, {.rows = b.tokens(), .width = b.config.ffn});
}

void layer(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  if (c.parallel_residual) {
    b.branch("residual gradient", b.tokens(), c.hidden, 3);
    attention_block(b);
    feed_forward_block(b);
    residual(b, 2);
    return;
  }
  b.branch("residual gradient", b.tokens(), c.hidden, 2);
  attention_block(b);
  residual(b, 1);
  b.branch("residual gradient", b.tokens(), c.hidden, 2);
  feed_forward_block(b);
  residual(b, 1);
}

/// OPT combines a causal and a padding mask anew in every forward, a kernel for each step.
void opt_mask(GraphBuilder& b) {
  const std::int64_t s = b.options.sequence, n = b.options.batch * s * s;
  const Bytes square = b.size(n), bits(static_cast<double>(n));
  const auto step = [&](Bytes read, Bytes written) {
    b.forward({.name = "attention mask", .kernel = b.bytes(read, written)});
  };
  step(Bytes(0), b.size(s * s));
  step(Bytes(0), Bytes(static_cast<double>(s * s)));
  step(b.size(s * s) + Bytes(static_cast<double>(s * s)), b.size(s * s));
  step(square, square);
  step(square, bits);
  step(square + bits, square);
  step(square, bits);
  step(square + bits, square);
  for (int i = 0; i < 5; ++i) step(b.size(b.tokens()), b.size(b.tokens()));  // positions from the padding mask
}

ParameterId embeddings(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const bool tied = c.tied_embeddings && head_of(b) == Head::language_model;
  const ParameterId table = b.embedding("token embedding", b.tokens(), c.vocab, true, tied);
  if (tied && b.training()) b.tie(table);
  if (c.positions > 0) {
    // GPT-2 looks one sample's positions up and broadcasts them.
    const std::int64_t lookups = c.architecture == "opt" ? b.tokens() : b.sequence();
    if (lookups < b.tokens()) {
      b.backward({{.name = "position embedding", .kernel = b.memory(b.tokens() * c.hidden, lookups * c.hidden)}});
    }
    b.embedding("position embedding", lookups, c.positions, false, false);
    b.add("embedding sum", b.tokens(), c.hidden);
  }
  if (c.architecture == "opt" && !b.flash()) opt_mask(b);
  if (c.architecture != "opt") b.dropout("embedding dropout", b.tokens() * c.hidden, c.dropout);
  return table;
}

}  // namespace

void build_decoder(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const ParameterId table = embeddings(b);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    b.set_layer(i);
    layer(b);
  }
  b.set_layer(-1);
  b.norm("final norm", b.tokens());
  if (head_of(b) == Head::language_model) language_model_head(b, table);
}

}  // namespace tessera
