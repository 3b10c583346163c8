#include "sim/graph/attention.hpp"

namespace tessera {

namespace {

/// The scores' shape and the steps on them.
class Scores {
 public:
  Scores(GraphBuilder& b, const EagerAttention& a)
      : b_(b), a_(a), heads_(b.options.batch * b.config.heads), rows_(heads_ * a.q_len), count_(rows_ * a.kv_len) {}

  void multiply_queries_and_keys() {
    if (!a_.copied_q && b_.options.batch > 1) copy_operand("attention queries", a_.q_len);
    if (!a_.copied_kv && b_.options.batch > 1) copy_operand("attention keys", a_.kv_len);
    const std::int64_t d = b_.config.head_dim;
    b_.forward(bmm("attention scores", a_.q_len, a_.kv_len, d, GemmLayout::tn));
    b_.backward({bmm("attention query gradient", a_.q_len, d, a_.kv_len, GemmLayout::nn),
                 bmm("attention key gradient", d, a_.kv_len, a_.q_len, GemmLayout::nt)});
  }

  void normalise() {
    if (a_.fused_softmax) return fused_softmax();
    Steps forward, backward = softmax_backward();
    if (a_.scale) forward.push_back(vector(Op::mulu, "attention scale"));
    push_mask(forward);
    if (a_.position_bias) forward.push_back(vector(Op::add, "attention position bias"));
    if (a_.clamp) forward.push_back(vector(Op::addu, "attention clamp"));
    push_softmax(forward);
    if (a_.clamp) push_clamp_backward(backward);
    if (a_.bias_has_gradient) backward.push_back(vector(Op::add, "attention position bias"));
    if (a_.mask == ScoreMask::where) backward.push_back(masked("attention mask"));
    if (a_.scale) backward.push_back(vector(Op::mulu, "attention scale"));
    b_.chain(vector(Op::softmax, "attention softmax"), forward, vector(Op::softmax_backward, "attention softmax"),
             backward);
    b_.dropout("attention dropout", count_, a_.dropout, Split::heads);
  }

  void multiply_values() {
    if (!a_.copied_kv && b_.options.batch > 1) copy_operand("attention values", a_.kv_len);
    const std::int64_t d = b_.config.head_dim, width = heads_ * a_.q_len * d;
    b_.forward(bmm("attention values", a_.q_len, d, a_.kv_len, GemmLayout::nn));
    Steps backward;
    // The gradient arrives as [batch, tokens, heads, d]; a batched GEMM wants the heads outside.
    if (b_.options.batch > 1 || a_.copied_q) {
      backward.push_back(
          {.name = "attention output gradient", .kernel = b_.memory(width, width), .split = Split::heads});
    }
    backward.push_back(bmm("attention weight gradient", a_.q_len, a_.kv_len, d, GemmLayout::tn));
    backward.push_back(bmm("attention value gradient", a_.kv_len, d, a_.q_len, GemmLayout::nt));
    b_.backward(backward);
    b_.copy("attention merge", width, Split::heads);
  }

 private:
  void fused_softmax() {
    b_.forward(vector(Op::softmax, "attention softmax"));
    b_.backward({vector(Op::softmax_backward, "attention softmax")});
    b_.dropout("attention dropout", count_, a_.dropout, Split::heads);
  }
  void copy_operand(std::string_view name, std::int64_t length) {
    b_.copy(name, heads_ * length * b_.config.head_dim, Split::heads);
  }
  [[nodiscard]] Step bmm(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k,
                         GemmLayout layout) const {
    return {.name = std::string(name),
            .kernel = b_.gemm(Op::bmm, {.batch = heads_, .m = m, .n = n, .k = k, .layout = layout}),
            .split = Split::heads};
  }
  [[nodiscard]] Step vector(Op op, std::string_view name) const {
    return {.name = std::string(name), .kernel = b_.vector(op, rows_, a_.kv_len), .split = Split::heads};
  }
  [[nodiscard]] Step moves(std::string_view name, Bytes read, Bytes written) const {
    return {.name = std::string(name), .kernel = b_.bytes(read, written), .split = Split::heads};
  }
  /// Select by a mask of one byte per score, which is shared by samples and heads.
  [[nodiscard]] Step masked(std::string_view name) const {
    const Bytes mask(static_cast<double>(a_.q_len * a_.kv_len));
    return moves(name, b_.size(count_) + mask, b_.size(count_));
  }

  /// Heads share a mask of queries x keys, but each sweeps it anew, after scores that have pushed it out of L2: OPT's
  /// sum takes 1.27 to 1.47 times a two-pass kernel on seven GPUs (NeuSight's model operators, 2,048 tokens).
  /// Overcharged: short sequences on a large L2.
  void push_mask(Steps& steps) const {
    const auto adds = [&](std::int64_t mask) {
      return moves("attention mask", b_.size(count_ + mask), b_.size(count_));
    };
    if (a_.mask == ScoreMask::where) steps.push_back(masked("attention mask"));
    if (a_.mask == ScoreMask::add_per_sample) steps.push_back(adds(b_.options.batch * a_.kv_len));
    if (a_.mask == ScoreMask::add_square) steps.push_back(adds(count_));
  }

  [[nodiscard]] bool casts() const { return a_.wide_softmax && b_.mixed(); }

  void push_softmax(Steps& steps) const {
    Step softmax = vector(Op::softmax, "attention softmax");
    if (casts()) softmax.kernel.dtype = Dtype::fp32;
    steps.push_back(softmax);
    const Bytes wide(4.0 * static_cast<double>(count_));
    if (casts()) steps.push_back(moves("attention softmax", wide, b_.size(count_)));
  }

  /// PyTorch multiplies dy by y in a kernel of its own first.
  [[nodiscard]] Steps softmax_backward() const {
    Steps steps;
    const Bytes wide(4.0 * static_cast<double>(count_));
    if (casts()) steps.push_back(moves("attention softmax", b_.size(count_), wide));
    steps.push_back(vector(Op::mul, "attention softmax"));
    steps.push_back(vector(Op::softmax_backward, "attention softmax"));
    if (!casts()) return steps;
    for (auto step = steps.end() - 2; step != steps.end(); ++step) step->kernel.dtype = Dtype::fp32;
    steps.push_back(moves("attention softmax", wide, b_.size(count_)));
    return steps;
  }

  /// where(x == c, dy / 2, dy), then zero where x < c: two comparisons, half, select, fill.
  void push_clamp_backward(Steps& steps) const {
    const Bytes values = b_.size(count_), mask(static_cast<double>(count_));
    steps.push_back(moves("attention clamp", values, mask));
    steps.push_back(vector(Op::divu, "attention clamp"));
    steps.push_back(moves("attention clamp", values + values + mask, values));
    steps.push_back(moves("attention clamp", values, mask));
    steps.push_back(moves("attention clamp", values + mask, values));
  }

  GraphBuilder& b_;
  const EagerAttention& a_;
  std::int64_t heads_, rows_, count_;
};

}  // namespace

void eager_attention(GraphBuilder& b, const EagerAttention& attention) {
  b.set_core_attention(true);
  Scores scores(b, attention);
  scores.multiply_queries_and_keys();
  scores.normalise();
  scores.multiply_values();
  b.set_core_attention(false);
}

void flash_attention(GraphBuilder& b, std::int64_t q_len, std::int64_t kv_len, bool causal) {
  const ModelConfig& c = b.config;
  const std::int64_t parts = b.options.context;
  AttentionShape shape{.batch = b.options.batch,
                       .q_len = q_len / parts,
                       .kv_len = kv_len / parts,
                       .heads = c.heads,
                       .kv_heads = c.kv_heads,
                       .head_dim = c.head_dim,
                       .causal = causal};
  const Bytes keys_and_values = b.size(2 * shape.batch * shape.kv_len * c.kv_heads * c.head_dim);
  Steps forward, backward;
  for (std::int64_t part = 0; part < parts; ++part) {
    if (part == 1 && causal) shape.causal = false, shape.kv_len /= 2;
    const Bytes passed = part + 1 < parts ? keys_and_values : Bytes(0);
    const auto step = [&](std::string_view name, Op op, Bytes passed_on) {
      return Step{.name = std::string(name),
                  .kernel = {op, b.options.dtype, shape},
                  .split = Split::heads,
                  .share = Share::tp,
                  .passed_over_cp = passed_on};
    };
    forward.push_back(step("attention", Op::attention_prefill, passed));
    backward.push_back(step("attention gradient", Op::attention_backward, 2.0 * passed));
  }
  b.set_core_attention(true);
  for (const Step& step : forward) b.forward(step);
  b.set_core_attention(false);
  b.backward(backward);
}

namespace {

/// x cos + rotate_half(x) sin: negate half, join, two products, sum; each half's gradient is padded and added.
void rotary_eager(GraphBuilder& b, std::int64_t heads, Share share) {
  const ModelConfig& c = b.config;
  const std::int64_t all = b.tokens() * heads * c.head_dim;
  const auto n = static_cast<std::int64_t>(static_cast<double>(all) * c.rotary_ratio);
  const std::int64_t table = b.options.sequence * c.head_dim;
  const auto step = [&](std::int64_t read, std::int64_t written) {
    return Step{.name = "rotary", .kernel = b.memory(read, written), .split = Split::heads, .share = share};
  };
  const Step product = step(n + table, n), sum = step(2 * n, n), negate = step(n / 2, n / 2), copy = step(n, n);
  const Step pad = step(0, n), place = step(n / 2, n / 2);
  Steps forward{product, negate, copy, product, sum},
      backward{product, negate, pad, place, pad, place, product, sum, sum};
  if (n < all) {  // the dimensions that are not turned are joined again
    forward.push_back(step(all, all));
    backward.insert(backward.end(), {step(0, all), step(all, all)});
  }
  b.chain(step(all + table, all), forward, step(all + table, all), backward);
}

}  // namespace

void rotary(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  if (c.rotary_ratio <= 0) return;
  if (!b.flash()) {
    rotary_eager(b, c.heads, Share::tp);
    rotary_eager(b, c.kv_heads, Share::kv);
    return;
  }
  const auto turned =
      static_cast<std::int64_t>(static_cast<double>(b.tokens() * (c.heads + c.kv_heads) * c.head_dim) * c.rotary_ratio);
  const Step step{.name = "rotary", .kernel = b.memory(turned, turned), .split = Split::heads, .share = Share::qkv};
  b.forward(step);
  b.backward({step});
}

void repeat_kv(GraphBuilder& b) {
  const ModelConfig& c = b.config;
  if (c.kv_heads == c.heads) return;
  const std::int64_t few = b.tokens() * c.kv_heads * c.head_dim, many = b.tokens() * c.heads * c.head_dim;
  for (const std::string_view name : {"attention keys", "attention values"}) {
    b.forward({.name = std::string(name), .kernel = b.memory(few, many), .split = Split::heads});
    b.backward({{.name = std::string(name), .kernel = b.memory(many, few), .split = Split::heads}});
  }
}

void split_heads(GraphBuilder& b, std::int64_t tensors) {
  const std::int64_t width = b.tokens() * b.config.heads * b.config.head_dim;
  b.backward(Steps(static_cast<std::size_t>(tensors),
                   {.name = "attention head gradient", .kernel = b.memory(width, width), .split = Split::heads}));
}

}  // namespace tessera
