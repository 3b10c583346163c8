#include "sim/place/chip/transformer_layers.hpp"

#include <fmt/format.h>

#include <initializer_list>

#include "sim/base/error.hpp"
#include "sim/place/chip/kept_elements.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {
namespace {

/// Adds operators to a layer, each after what it reads.
class LayerBuilder {
 public:
  explicit LayerBuilder(std::string name) { layer_.name = std::move(name); }

  int input(std::int64_t elements) { return add({.name = "input", .elements = elements}, {}); }
  int view(std::string name, int from) { return add({.name = std::move(name), .elements = elements(from)}, {from}); }
  int gemm(std::string name, GemmWork work, std::vector<VectorOp> fused, std::initializer_list<int> from,
           std::int64_t bias = 0) {
    const std::int64_t out = work.batch * work.n * work.k;
    if (work.weight) layer_.parameter_elements += work.c * work.k + bias;
    const CoreClass core = fused.empty() ? CoreClass::tensor : CoreClass::fused;
    return add({.name = std::move(name), .core = core, .gemm = work, .fused = std::move(fused), .elements = out}, from);
  }
  int vector(std::string name, VectorOp op, std::initializer_list<int> from, std::int64_t parameters = 0) {
    layer_.parameter_elements += parameters;
    return add({.name = std::move(name),
                .core = CoreClass::vector,
                .vector = op,
                .elements = elements(*from.begin()),
                .operands = static_cast<std::int64_t>(from.size()),
                .parameter_elements = parameters},
               from);
  }
  int chain(std::string name, VectorOp op, std::vector<VectorOp> fused, int from) {
    return add({.name = std::move(name),
                .core = CoreClass::vector,
                .vector = op,
                .fused = std::move(fused),
                .elements = elements(from)},
               {from});
  }
  /// A sum over the tensor-parallel group.
  int sum(std::string name, int from, bool forward) {
    return add(
        {.name = std::move(name), .core = CoreClass::vector, .elements = elements(from), .summed_forward = forward},
        {from});
  }
  void parameters(std::int64_t count) { layer_.parameter_elements += count; }

  LayerGraph finish() {
    for (const LayerOperator& op : layer_.operators) layer_.traced_elements += op.elements;
    layer_.kept_elements = kept_elements(layer_);
    return std::move(layer_);
  }

 private:
  [[nodiscard]] std::int64_t elements(int of) const { return layer_.operators[static_cast<std::size_t>(of)].elements; }
  int add(LayerOperator op, std::initializer_list<int> from) {
    const int index = static_cast<int>(layer_.operators.size());
    layer_.operators.push_back(std::move(op));
    for (const int before : from) layer_.edges.push_back({before, index});
    return index;
  }

  LayerGraph layer_;
};

/// One model at one width; sizes per device of the tensor-parallel group.
class BlockBuilder {
 public:
  BlockBuilder(const ModelConfig& model, const ChipModelOptions& options, int width)
      : model_(model),
        options_(options),
        width_(width),
        rows_(options.micro_batch * options.sequence),
        linear_rows_(options.rules.one_sample_linear && options.tracing == Tracing::whole_model ? options.sequence
                                                                                                : rows_) {}

  LayerGraph embedding() const {
    LayerBuilder b("embedding");
    const int tokens = b.view("tokens", b.input(rows_ * model_.hidden));
    if (model_.positions > 0) b.vector("positions", VectorOp::add, {tokens, tokens});
    b.parameters((model_.vocab / width_ + model_.positions + model_.token_types) * model_.hidden);
    return b.finish();
  }

  LayerGraph block() const {
    LayerBuilder b("block");
    append_block(b);
    return b.finish();
  }

  LayerGraph block_with_head() const {
    LayerBuilder b("block");
    append_head(b, append_block(b));
    return b.finish();
  }

  LayerGraph head() const {
    LayerBuilder b("head");
    append_head(b, b.input(rows_ * model_.hidden));
    return b.finish();
  }

  [[nodiscard]] Bytes boundary() const { return static_cast<double>(rows_ * model_.hidden) * kSystolicWord; }

 private:
  [[nodiscard]] bool post_norm() const { return model_.architecture == "bert"; }
  [[nodiscard]] bool one_qkv() const { return model_.architecture == "gpt2" || model_.architecture == "gpt_neox"; }

  int norm(LayerBuilder& b, const std::string& name, int from) const {
    if (model_.norm == Norm::layernorm) return b.vector(name, VectorOp::layernorm, {from}, 2 * model_.hidden);
    const int root = b.chain(name, VectorOp::multiply, {VectorOp::mean, VectorOp::add, VectorOp::root}, from);
    const int scaled = b.vector(name + " scale", VectorOp::multiply, {from, root});
    return b.vector(name + " weight", VectorOp::multiply, {scaled}, model_.hidden);
  }

  [[nodiscard]] GemmWork linear(std::int64_t c, std::int64_t k) const {
    return {.batch = 1, .n = linear_rows_, .c = c, .k = k, .weight = true};
  }

  int rotary(LayerBuilder& b, const std::string& name, int from) const {
    if (model_.rotary_ratio == 0) return from;
    const int direct = b.vector(name + " cos", VectorOp::multiply, {from, from});
    const int half = b.vector(name + " turn", VectorOp::negate, {from});
    const int turned = b.vector(name + " sin", VectorOp::multiply, {half, half});
    return b.vector(name + " rotary", VectorOp::add, {direct, turned});
  }

  /// A product summed over the group, then what follows it.
  int row_parallel(LayerBuilder& b, const std::string& name, GemmWork work, int from, int residual) const {
    std::vector<VectorOp> fused;
    if (width_ == 1 && model_.dropout > 0) fused.push_back(VectorOp::dropout);
    if (width_ == 1 && model_.dropout == 0) fused.push_back(VectorOp::add);
    int out = b.gemm(name, work, std::move(fused), {from}, model_.ffn_bias ? model_.hidden : 0);
    if (width_ > 1) {
      out = b.sum(name + " sum", out, true);
      if (model_.dropout > 0) out = b.vector(name + " dropout", VectorOp::dropout, {out});
    }
    return b.vector(name + " residual", VectorOp::add, {out, residual});
  }

  struct Heads {
    int queries = 0, keys = 0, values = 0;
  };

  Heads project(LayerBuilder& b, int from) const {
    const std::int64_t q = model_.heads * model_.head_dim / width_;
    const std::int64_t kv = model_.kv_heads * model_.head_dim / width_;
    const std::int64_t bias = model_.qkv_bias ? 1 : 0;
    if (one_qkv()) {
      const int all = b.gemm("qkv", linear(model_.hidden, q + 2 * kv), {}, {from}, bias * (q + 2 * kv));
      return {b.view("queries", all), b.view("keys", all), b.view("values", all)};
    }
    return {b.gemm("queries", linear(model_.hidden, q), {}, {from}, bias * q),
            b.gemm("keys", linear(model_.hidden, kv), {}, {from}, bias * kv),
            b.gemm("values", linear(model_.hidden, kv), {}, {from}, bias * kv)};
  }

  int attention(LayerBuilder& b, int from) const {
    Heads x = project(b, from);
    x.queries = rotary(b, "queries", x.queries);
    x.keys = rotary(b, "keys", x.keys);
    const std::int64_t batch = options_.micro_batch * model_.heads / width_, s = options_.sequence;
    const int scores = b.gemm("scores", {batch, s, model_.head_dim, s, false}, {VectorOp::divide}, {x.queries, x.keys});
    const int masked = b.vector("mask", VectorOp::mask, {scores});
    int shares = b.vector("softmax", VectorOp::softmax, {masked});
    if (model_.attention_dropout > 0) shares = b.vector("attention dropout", VectorOp::dropout, {shares});
    return b.gemm("context", {batch, s, s, model_.head_dim, false}, {}, {shares, x.values});
  }

  int feed_forward(LayerBuilder& b, int from) const {
    const std::int64_t ffn = model_.ffn / width_, bias = model_.ffn_bias ? ffn : 0;
    if (model_.gated_ffn) {
      const int gate = b.gemm("gate", linear(model_.hidden, ffn), {VectorOp::silu}, {from}, bias);
      const int up = b.gemm("up", linear(model_.hidden, ffn), {}, {from}, bias);
      return b.vector("gated", VectorOp::multiply, {gate, up});
    }
    const VectorOp activation = model_.activation == Activation::relu ? VectorOp::relu : VectorOp::gelu;
    return b.gemm("up", linear(model_.hidden, ffn), {activation}, {from}, bias);
  }

  /// Copied to the group: its gradient is summed.
  int copied(LayerBuilder& b, const std::string& name, int from) const {
    return width_ == 1 ? from : b.sum(name, from, false);
  }

  int append_block(LayerBuilder& b) const {
    const std::int64_t inner = model_.heads * model_.head_dim / width_;
    int x = b.view("residual", b.input(rows_ * model_.hidden));
    int y = copied(b, "attention input", post_norm() ? x : norm(b, "attention norm", x));
    x = row_parallel(b, "projection", linear(inner, model_.hidden), attention(b, y), x);
    if (post_norm()) x = norm(b, "attention norm", x);
    y = copied(b, "feed-forward input", post_norm() ? x : norm(b, "feed-forward norm", x));
    x = row_parallel(b, "down", linear(model_.ffn / width_, model_.hidden), feed_forward(b, y), x);
    return post_norm() ? norm(b, "feed-forward norm", x) : x;
  }

  void append_head(LayerBuilder& b, int from) const {
    const int x = copied(b, "head input", post_norm() ? from : norm(b, "final norm", from));
    b.gemm("head", linear(model_.hidden, (model_.vocab + width_ - 1) / width_), {}, {x});
  }

  const ModelConfig& model_;
  const ChipModelOptions& options_;
  int width_;
  std::int64_t rows_, linear_rows_;
};

bool divides(const ModelConfig& model, int width) {
  return model.heads % width == 0 && model.kv_heads % width == 0 && model.ffn % width == 0;
}

WidthLayers layers_at(const ModelConfig& model, const ChipModelOptions& options, int width) {
  const BlockBuilder builder(model, options, width);
  const auto blocks = static_cast<std::size_t>(model.layers);
  WidthLayers layers{.width = width, .distinct = {builder.embedding()}, .boundary = builder.boundary()};
  layers.order.assign(blocks + 1, 1);
  layers.order.front() = 0;
  if (options.rules.head_in_layers) {
    layers.distinct.push_back(options.tracing == Tracing::one_layer ? builder.block_with_head() : builder.block());
  } else {
    layers.distinct.push_back(builder.block());
    layers.distinct.push_back(builder.head());
    layers.order.push_back(2);
  }
  return layers;
}

}  // namespace

ChipModel transformer_layers(const ModelConfig& model, const ChipModelOptions& options) {
  if (model.experts > 0 || model.decoder_layers > 0)
    throw InputError(
        Diagnostic{.message = fmt::format("{}: chips are searched for dense decoders and encoders", model.name)});
  ChipModel result{.name = model.name, .micro_batch = options.micro_batch, .widths = {}};
  for (int width = options.narrowest; width <= options.widest; width *= 2)
    if (divides(model, width)) result.widths.push_back(layers_at(model, options, width));
  if (result.widths.empty())
    throw InputError(Diagnostic{.message = fmt::format("{}: no tensor width from {} to {} divides its {} heads",
                                                       model.name, options.narrowest, options.widest, model.heads)});
  return result;
}

}  // namespace tessera
