// The first Transformer (Vaswani et al., arXiv 1706.03762, base) and ViT-B/16 (Dosovitskiy et al., arXiv 2010.11929).
#include "sim/graph/architectures.hpp"
#include "sim/graph/attention.hpp"
#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

void feed_forward_block(GraphBuilder& b) {
  b.branch("residual gradient", b.tokens(), b.config.hidden, 2);
  feed_forward(b, {.rows = b.tokens(), .width = b.config.ffn});
  residual(b, 1);
}

void attention_block(GraphBuilder& b) {
  b.branch("residual gradient", b.tokens(), b.config.hidden, 2);
  self_attention(b);
  residual(b, 1);
}

/// A vector that is added to, or put before, each of `copies` samples: its gradient is their sum.
void learned(GraphBuilder& b, std::string_view name, std::int64_t elements, std::int64_t copies) {
  Steps steps{{.name = std::string(name) + " gradient",
               .kernel = b.memory(copies * elements, elements),
               .parameter_gradient = true}};
  b.complete(steps, b.parameter(name, elements));
  b.backward(steps);
}

/// Encoder layers with the norm behind (the first Transformer), decoder layers with a second attention, on the encoder.
void layer(GraphBuilder& b, bool decoder) {
  for (int i = 0; i < (decoder ? 2 : 1); ++i) {
    attention_block(b);
    b.norm("attention norm", b.tokens());
  }
  feed_forward_block(b);
  b.norm("feed-forward norm", b.tokens());
}

}  // namespace

// Sources and targets have the same length; attention on the encoder costs what self-attention costs, its projections
// being as many. Embeddings of source, target and output are one table, as in the paper.
void build_transformer(GraphBuilder& b) {
  const std::int64_t rows = b.tokens(), h = b.config.hidden;
  Layers net(b);
  const ParameterId table = b.embedding("token embedding", 2 * rows, b.config.vocab, false, true);
  for (const bool decoder : {false, true}) {
    b.add("position sum", rows, h);
    for (std::int64_t i = 0; i < b.config.layers; ++i) layer(b, decoder);
  }
  b.linear({.name = "language model head", .rows = rows, .in = h, .out = b.config.vocab, .tied = table});
  net.loss({b.config.vocab, b.options.sequence, 1});
}

void build_vit(GraphBuilder& b) {
  const std::int64_t rows = b.tokens(), h = b.config.hidden, patch = find_network(b.config.network)->patch;
  Layers net(b);
  net.conv(net.input(3, b.config.image, b.config.image), {.out = h, .kernel = patch, .stride = patch, .bias = true});
  b.copy("class token", rows * h);
  learned(b, "class token", h, b.options.batch);
  b.add("position sum", rows, h);
  learned(b, "position embedding", b.options.sequence * h, b.options.batch);
  for (std::int64_t i = 0; i < b.config.layers; ++i) {
    b.set_layer(i);
    b.branch("residual gradient", rows, h, 2);
    b.norm("attention norm", rows);
    self_attention(b);
    residual(b, 1);
    b.branch("residual gradient", rows, h, 2);
    b.norm("feed-forward norm", rows);
    feed_forward(b, {.rows = rows, .width = b.config.ffn});
    residual(b, 1);
  }
  b.set_layer(-1);
  b.norm("last norm", rows);
  net.loss(net.dense({h, 1, 1}, b.config.classes));
}

}  // namespace tessera
