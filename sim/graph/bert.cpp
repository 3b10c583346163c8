// BERT: encoder layers with the norm behind each block, and its four kinds of head.
#include "sim/graph/architectures.hpp"

namespace tessera {

namespace {

ParameterId embeddings(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens(), s = b.options.sequence;
  for (int i = 0; i < 2; ++i) {  // (1 - mask) * lowest
    b.forward({.name = "attention mask", .kernel = b.memory(t, t)});
  }
  const Head head = head_of(b);
  const bool tied = head == Head::language_model || head == Head::pretraining;
  const ParameterId table = b.embedding("token embedding", t, c.vocab, true, tied);
  b.embedding("type embedding", t, c.token_types, false, false);
  b.add("embedding sum", t, c.hidden);
  if (s < t) b.backward({{.name = "position embedding", .kernel = b.memory(t * c.hidden, s * c.hidden)}});
  b.embedding("position embedding", s, c.positions, false, false);
  b.add("embedding sum", t, c.hidden);
  b.layernorm("embedding norm", t, c.hidden);
  b.dropout("embedding dropout", t * c.hidden, c.dropout);
  return table;
}

void layer(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens();
  b.branch("residual gradient", t, c.hidden, 2);
  self_attention(b);
  residual(b, 1);
  b.norm("attention norm", t);
  b.branch("residual gradient", t, c.hidden, 2);
  feed_forward(b, {.rows = t, .width = c.ffn});
  residual(b, 1);
  b.norm("feed-forward norm", t);
}

/// The first token of each sample.
void pooler(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t rows = b.options.batch;
  b.backward({{.name = "pooler", .kernel = b.memory(0, b.tokens() * c.hidden)},
              {.name = "pooler", .kernel = b.memory(rows * c.hidden, rows * c.hidden)}});
  b.linear({.name = "pooler", .rows = rows, .in = c.hidden, .out = c.hidden, .bias = true});
  b.forward({.name = "pooler", .kernel = b.vector(Op::tanh, rows, c.hidden)});
  b.backward({{.name = "pooler", .kernel = b.vector(Op::mul, rows, c.hidden)}});
}

void two_way_classifier(GraphBuilder& b) {
  b.linear({.name = "classifier", .rows = b.options.batch, .in = b.config.hidden, .out = 2, .bias = true});
}

void masked_language_model(GraphBuilder& b, ParameterId table) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens();
  b.linear({.name = "head transform", .rows = t, .in = c.hidden, .out = c.hidden, .bias = true});
  b.activation("head activation", c.activation, t, c.hidden, Split::none);
  b.layernorm("head norm", t, c.hidden);
  b.linear({.name = "language model head",
            .rows = t,
            .in = c.hidden,
            .out = c.vocab,
            .bias = true,
            .parallel = Parallel::column,
            .share = Share::vocab,
            .tied = table});
  if (b.training() && b.options.optimizer != OptimizerKind::none) cross_entropy(b, t);
}

}  // namespace

void build_bert(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const ParameterId table = embeddings(b);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    b.set_layer(i);
    layer(b);
  }
  b.set_layer(-1);
  const Head head = head_of(b);
  if (head == Head::pretraining) b.branch("pooler", b.tokens(), c.hidden, 2);
  if (head != Head::language_model) pooler(b);
  if (head == Head::classifier) {
    b.dropout("classifier dropout", b.options.batch * c.hidden, c.dropout);
    two_way_classifier(b);
  }
  if (head == Head::language_model || head == Head::pretraining) masked_language_model(b, table);
  if (head == Head::pretraining) two_way_classifier(b);
}

}  // namespace tessera
