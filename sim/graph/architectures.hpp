// One builder per family of architectures, and the blocks that they share.
#pragma once

#include "sim/graph/builder.hpp"

namespace tessera {

void build_decoder(GraphBuilder& b);
void build_bert(GraphBuilder& b);
void build_switch(GraphBuilder& b);
void build_network(GraphBuilder& b);  // a row of sim/graph/zoo

/// The head of this mode.
Head head_of(const GraphBuilder& b);

/// Projections, core and output projection; the norm is the caller's.
void self_attention(GraphBuilder& b);

struct FeedForward {
  std::int64_t rows = 0, width = 0;
  double inner_dropout = 0;  // after the activation
  bool sums_over_tp = true;  // false: the experts of one layer, summed once
};
/// Two linear layers around an activation, or three with a gate.
void feed_forward(GraphBuilder& b, const FeedForward& ffn);

/// Mixtral's: every token visits its top-k experts, spread evenly.
void mixture_of_experts(GraphBuilder& b);

/// Adds `branches` outputs onto the residual stream, each after its dropout.
void residual(GraphBuilder& b, int branches);

/// Logits of all tokens; production inference computes those of each sample's last token only.
void language_model_head(GraphBuilder& b, ParameterId token_table);

/// Cross entropy over the logits of `rows` tokens.
void cross_entropy(GraphBuilder& b, std::int64_t rows);

/// One Adam step over every parameter.
void optimizer_step(GraphBuilder& b, const Graph& graph);

}  // namespace tessera
