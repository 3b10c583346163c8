#include <algorithm>

#include "sim/graph/architectures.hpp"

namespace tessera {

namespace {

/// silu(gate) * up, forward and backward.
void gate(GraphBuilder& b, std::int64_t rows, std::int64_t width) {
  const auto step = [&](const Kernel& kernel) {
    return Step{.name = "feed-forward activation", .kernel = kernel, .split = Split::width};
  };
  const std::int64_t n = rows * width;
  const Step fused = step(b.memory(2 * n, n)), fused_backward = step(b.memory(3 * n, 2 * n));
  if (b.flash()) {
    b.forward(fused);
    return b.backward({fused_backward});
  }
  const Step product = step(b.vector(Op::mul, rows, width));
  b.chain(fused, {step(b.vector(Op::silu, rows, width)), product}, fused_backward, {product, product, product});
}

void gated_feed_forward(GraphBuilder& b, const FeedForward& f) {
  const ModelConfig& c = b.config;
  Linear l{.name = "feed-forward gate and up",
           .rows = f.rows,
           .in = c.hidden,
           .out = 2 * f.width,
           .bias = c.ffn_bias,
           .parallel = Parallel::column,
           .sums_over_tp = f.sums_over_tp};
  if (b.flash()) return b.linear(l);
  b.branch("feed-forward input gradient", f.rows, c.hidden, 2, f.sums_over_tp);
  l.sums_over_tp = false;
  l.out = f.width;
  l.name = "feed-forward gate";
  b.linear(l);
  l.name = "feed-forward up";
  b.linear(l);
}

}  // namespace

Head head_of(const GraphBuilder& b) {
  return b.training() ? b.config.training_head : b.config.head;
}

void feed_forward(GraphBuilder& b, const FeedForward& f) {
  const ModelConfig& c = b.config;
  if (c.gated_ffn) {
    gated_feed_forward(b, f);
    gate(b, f.rows, f.width);
  } else {
    b.linear({.name = "feed-forward in",
              .rows = f.rows,
              .in = c.hidden,
              .out = f.width,
              .bias = c.ffn_bias,
              .parallel = Parallel::column,
              .sums_over_tp = f.sums_over_tp});
    b.activation("feed-forward activation", c.activation, f.rows, f.width, Split::width);
    b.dropout("feed-forward dropout", f.rows * f.width, f.inner_dropout, Split::width);
  }
  b.linear({.name = "feed-forward out",
            .rows = f.rows,
            .in = f.width,
            .out = c.hidden,
            .bias = c.ffn_bias,
            .parallel = Parallel::row,
            .sums_over_tp = f.sums_over_tp});
}

namespace {

void router(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens();
  b.linear({.name = "router", .rows = t, .in = c.hidden, .out = c.experts, .narrow = false});
  const auto small = [&](Op op) { return Step{.name = "router", .kernel = b.vector(op, t, c.experts)}; };
  const Step pick{.name = "router", .kernel = b.memory(t * c.experts, 2 * t * c.experts_per_token)};
  b.chain(small(Op::softmax), {small(Op::softmax), pick, small(Op::div)}, small(Op::softmax_backward),
          {small(Op::div), pick, small(Op::mul), small(Op::softmax_backward)});
}

/// Grouped GEMMs over all experts; backward is one such kernel for the inputs and one for the weights.
void grouped_experts(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens();
  const Kernel kernel{Op::moe, b.options.dtype,
                      MoeShape{.tokens = t,
                               .hidden = c.hidden,
                               .inter = c.expert_ffn,
                               .topk = c.experts_per_token,
                               .experts = c.experts,
                               .gated = c.gated_ffn}};
  const Bytes sum = b.size(t * c.hidden);
  const Bytes routed = b.size(t * c.experts_per_token * c.hidden);
  b.forward(
      {.name = "experts", .kernel = kernel, .split = Split::width, .reduced_over_tp = sum, .routed_over_ep = routed});
  const ParameterId weights =
      b.parameter("experts weight", c.experts * (c.gated_ffn ? 3 : 2) * c.hidden * c.expert_ffn, Split::width);
  b.divide_by_experts(weights);
  Steps steps{{.name = "experts input gradient",
               .kernel = kernel,
               .split = Split::width,
               .reduced_over_tp = sum,
               .routed_over_ep = routed},
              {.name = "experts weight gradient", .kernel = kernel, .split = Split::width, .parameter_gradient = true}};
  b.complete(steps, weights);
  b.backward(steps);
}

/// A loop over the experts: find its tokens, gather, feed forward, weigh, add back.
void looped_experts(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  const std::int64_t t = b.tokens(), rows = std::max<std::int64_t>(1, t * c.experts_per_token / c.experts);
  const std::int64_t n = rows * c.hidden;
  const Bytes sum = b.size(t * c.hidden);
  const auto when = [&](bool summed) { return summed ? sum : Bytes(0); };
  b.forward({.name = "expert output", .kernel = b.memory(0, t * c.hidden)});
  for (std::int64_t i = 0; i < c.experts; ++i) {
    const Step gather{.name = "expert gather", .kernel = b.memory(n, n)};
    b.forward({.name = "expert tokens", .kernel = b.memory(t * c.experts_per_token, rows)});
    b.forward(gather);
    b.backward({{.name = "expert gather", .kernel = b.memory(0, t * c.hidden)},
                gather,
                {.name = "expert gather", .kernel = b.vector(Op::add, t, c.hidden), .reduced_over_tp = when(i == 0)}});
    feed_forward(b, {.rows = rows, .width = c.expert_ffn, .sums_over_tp = false});
    const Step weigh{.name = "expert weight", .kernel = b.vector(Op::mul, rows, c.hidden)};
    b.forward(weigh);
    b.forward({.name = "expert scatter", .kernel = b.memory(2 * n, n), .reduced_over_tp = when(i + 1 == c.experts)});
    b.backward({gather, weigh, weigh});
  }
}

}  // namespace

void mixture_of_experts(GraphBuilder& b) {
  b.branch("expert input gradient", b.tokens(), b.config.hidden, 2);
  router(b);
  if (b.flash()) return grouped_experts(b);
  looped_experts(b);
}

void residual(GraphBuilder& b, int branches) {
  const ModelConfig& c = b.config;
  const std::int64_t n = b.tokens() * c.hidden;
  const bool drops = b.training() && c.dropout > 0;
  if (!b.flash() && !b.options.fused) {
    for (int i = 0; i < branches; ++i) {
      b.dropout("residual dropout", n, c.dropout);
      b.add("residual sum", b.tokens(), c.hidden);
    }
    return;
  }
  const Bytes mask(drops ? static_cast<double>(branches * n) : 0);
  b.forward({.name = "residual sum", .kernel = b.bytes(b.size((branches + 1) * n), b.size(n) + mask)});
  if (drops) {
    b.backward({{.name = "residual dropout", .kernel = b.bytes(b.size(n) + mask, b.size(branches * n))}});
  }
}

void cross_entropy(GraphBuilder& b, std::int64_t rows) {
  const std::int64_t n = rows * b.config.vocab;
  const Bytes logits = b.size(n), wide(4.0 * static_cast<double>(n));
  const auto step = [&](Bytes read, Bytes written) {
    return Step{.name = "loss", .kernel = b.bytes(read, written), .split = Split::width, .share = Share::vocab};
  };
  if (b.flash()) {
    // To fp32, then exponentials in place; vocabulary-parallel: maximum, sum and target are reduced, 4 B a token each.
    b.forward(step(logits, wide));
    Step exponentials = step(wide, wide);
    exponentials.reduced_over_tp = Bytes(3.0 * 4.0 * static_cast<double>(rows));
    b.forward(exponentials);
    if (b.options.fused) return b.backward({step(wide, logits)});
    // The target's gradient on zeros, softmax's backward, the cast.
    return b.backward({step(Bytes(0), wide), step(wide + wide, wide), step(wide, logits)});
  }
  b.forward(step(logits, logits));  // shifted by one token
  if (b.mixed()) b.forward(step(logits, wide));
  b.forward(step(wide, wide));  // log softmax
  Steps steps{step(Bytes(0), wide), step(wide + wide, wide)};
  if (b.mixed()) steps.push_back(step(wide, logits));
  steps.push_back(step(logits, logits));
  b.backward(steps);
}

void language_model_head(GraphBuilder& b, ParameterId token_table) {
  const ModelConfig& c = b.config;
  const bool last_only = b.flash() && !b.training();
  const std::int64_t rows = last_only ? b.options.batch : b.tokens();
  if (last_only) b.copy("last token", rows * c.hidden);
  b.linear({.name = "language model head",
            .rows = rows,
            .in = c.hidden,
            .out = c.vocab,
            .parallel = Parallel::column,
            .share = Share::vocab,
            .narrow = false,
            .tied = c.tied_embeddings ? token_table : kNoParameter});
  if (b.training() && b.options.optimizer != OptimizerKind::none) cross_entropy(b, rows);
}

void optimizer_step(GraphBuilder& b, const Graph& graph) {
  // Multi-tensor kernels take the parameters of one layer and one way of splitting together.
  struct Group {
    Split split;
    Share share;
    std::int64_t elements;
  };
  std::vector<Group> groups;
  const auto flush = [&](std::int32_t layer) {
    b.set_layer(layer);
    for (const Group& g : groups) {
      b.optimize(
          {.name = "optimizer", .kernel = b.vector(Op::optimizer, 1, g.elements), .split = g.split, .share = g.share});
    }
    groups.clear();
  };
  std::int32_t layer = -1;
  for (const Parameter& p : graph.parameters) {
    if (p.layer != layer) flush(layer);
    layer = p.layer;
    const auto same = [&](const Group& g) { return g.split == p.split && g.share == p.share; };
    const auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) {
      groups.push_back({p.split, p.share, p.elements});
    } else {
      group->elements += p.elements;
    }
  }
  flush(layer);
}

}  // namespace tessera
