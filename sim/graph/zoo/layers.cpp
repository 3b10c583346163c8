#include "sim/graph/zoo/layers.hpp"

#include <fmt/format.h>

#include <string>

namespace tessera {

namespace {

std::int64_t width_or(std::int64_t width, std::int64_t height) {
  return width > 0 ? width : height;
}

std::string conv_name(const Conv& c) {
  const std::int64_t w = width_or(c.kernel_w, c.kernel);
  const std::string_view kind = c.groups > 1 ? "grouped conv" : "conv";
  return fmt::format("{} {}x{}", kind, c.kernel, w);
}

ConvShape shape_of(const Feature& x, const Conv& c, std::int64_t batch) {
  return {.batch = batch,
          .c_in = x.channels,
          .c_out = c.out,
          .kernel = c.kernel,
          .image = x.height,
          .stride = c.stride,
          .pad = c.pad,
          .groups = c.groups,
          .image_w = x.width == x.height ? 0 : x.width,
          .kernel_w = c.kernel_w,
          .stride_w = c.stride_w,
          .pad_w = c.pad_w};
}

}  // namespace

/// The last of `steps` is the gradient of a parameter that this layer owns, or adds into one owned elsewhere.
void Layers::own(Steps& steps, std::string_view name, std::int64_t elements) {
  steps.back().parameter_gradient = true;
  if (shared_) {
    steps.push_back({.name = "gradient sum", .kernel = b_.vector(Op::add, 1, elements), .parameter_gradient = true});
    return;
  }
  b_.complete(steps, b_.parameter(name, elements));
}

void Layers::bias_of(const Feature& y) {
  const std::int64_t n = count(y);
  if (!b_.options.fused) b_.forward({.name = "bias", .kernel = b_.memory(n, n)});
  Steps steps{{.name = "bias gradient", .kernel = b_.memory(n, y.channels)}};
  own(steps, "bias", y.channels);
  b_.backward(steps);
}

Feature Layers::conv(const Feature& x, const Conv& c) {
  const ConvShape shape = shape_of(x, c, b_.options.batch);
  const std::string name = conv_name(c);
  const auto kernel = [&](Op op) { return Kernel{op, b_.options.dtype, shape}; };
  b_.forward({.name = name, .kernel = kernel(Op::conv2d)});
  Steps steps;
  if (!x.is_input) steps.push_back({.name = name + " input gradient", .kernel = kernel(Op::conv2d_dgrad)});
  steps.push_back({.name = name + " weight gradient", .kernel = kernel(Op::conv2d_wgrad)});
  own(steps, name + " weight", c.out * (x.channels / c.groups) * shape.window());
  b_.backward(steps);
  const Feature y{c.out, shape.out_h(), shape.out_w()};
  if (c.bias) bias_of(y);
  return y;
}

Feature Layers::transposed_conv(const Feature& x, const Conv& c, std::int64_t out_size) {
  const Feature y{c.out, out_size, out_size};
  // The convolution from y to x, whose gradient this is.
  const ConvShape shape =
      shape_of(y, {.out = x.channels, .kernel = c.kernel, .stride = c.stride, .pad = c.pad}, b_.options.batch);
  const std::string name = fmt::format("transposed conv {0}x{0}", c.kernel);
  const auto kernel = [&](Op op) { return Kernel{op, b_.options.dtype, shape}; };
  b_.forward({.name = name, .kernel = kernel(Op::conv2d_dgrad)});
  Steps steps{{.name = name + " input gradient", .kernel = kernel(Op::conv2d)},
              {.name = name + " weight gradient", .kernel = kernel(Op::conv2d_wgrad)}};
  own(steps, name + " weight", x.channels * c.out * shape.window());
  b_.backward(steps);
  if (c.bias) bias_of(y);
  return y;
}

// Training: statistics read x, then it is read again and y written; backward reads x and dy for the sums and again for
// dx (cuDNN's spatial batch norm).
void Layers::batch_norm(const Feature& x) {
  const std::int64_t n = count(x);
  if (!folds()) b_.forward({.name = "batch norm", .kernel = b_.memory(b_.training() ? 2 * n : n, n)});
  Steps steps{{.name = "batch norm gradient", .kernel = b_.memory(4 * n, n)}};
  own(steps, "batch norm weight and bias", 2 * x.channels);
  steps.front().parameter_gradient = false;  // dx comes of it, too
  b_.backward(steps);
}

void Layers::instance_norm(const Feature& x) {
  pass("instance norm", x, 2, 4);
}

void Layers::pass(std::string_view name, const Feature& x, double read, double back_read) {
  const Bytes one = b_.size(count(x));
  b_.forward({.name = std::string(name), .kernel = b_.bytes(one * read, one)});
  b_.backward({{.name = fmt::format("{} gradient", name), .kernel = b_.bytes(one * back_read, one)}});
}

void Layers::activation(const Feature& x, Nonlinearity kind) {
  if (kind == Nonlinearity::none) return;
  const std::int64_t rows = b_.options.batch * x.channels, h = x.height * x.width;
  if (!b_.options.fused)
    b_.forward({.name = "activation", .kernel = b_.vector(kind == Nonlinearity::relu ? Op::relu : Op::silu, rows, h)});
  b_.backward({{.name = "activation gradient", .kernel = b_.vector(Op::mul, rows, h)}});
}

Feature Layers::conv_norm(const Feature& x, const Conv& c, Nonlinearity kind) {
  const Feature y = conv(x, c);
  batch_norm(y);
  activation(y, kind);
  return y;
}

Feature Layers::pool(const Feature& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad, bool ceil) {
  const auto side = [&](std::int64_t in) { return (in + 2 * pad - kernel + (ceil ? stride - 1 : 0)) / stride + 1; };
  const Feature y{x.channels, side(x.height), side(x.width)};
  b_.forward({.name = "pool", .kernel = b_.memory(count(x), count(y))});
  b_.backward({{.name = "pool gradient", .kernel = b_.memory(count(y), count(x))}});
  return y;
}

Feature Layers::global_pool(const Feature& x) {
  const Feature y{x.channels, 1, 1};
  b_.forward({.name = "global pool", .kernel = b_.memory(count(x), count(y))});
  b_.backward({{.name = "global pool gradient", .kernel = b_.memory(count(y), count(x))}});
  return y;
}

Feature Layers::dense(const Feature& x, std::int64_t out, bool bias) {
  b_.linear({.name = "linear", .rows = b_.options.batch, .in = x.elements(), .out = out, .bias = bias});
  return {out, 1, 1};
}

void Layers::add(const Feature& x) {
  if (!folds()) b_.add("residual sum", b_.options.batch * x.channels, x.height * x.width);
}

Feature Layers::concat(const Feature& like, std::int64_t channels) {
  const Feature y{channels, like.height, like.width};
  b_.forward({.name = "concat", .kernel = b_.memory(count(y), count(y))});
  b_.backward({{.name = "concat gradient", .kernel = b_.memory(count(y), count(y))}});
  return y;
}

void Layers::fork(const Feature& x, std::int64_t uses) {
  if (x.is_input) return;
  b_.branch("branch gradient sum", b_.options.batch * x.channels, x.height * x.width, uses);
}

void Layers::squeeze_excite(const Feature& x, std::int64_t squeezed) {
  fork(x, 2);
  const Feature pooled = global_pool(x);
  const Feature small = conv(pooled, {.out = squeezed, .bias = true});
  activation(small, Nonlinearity::smooth);
  const Feature gate = conv(small, {.out = x.channels, .bias = true});
  activation(gate, Nonlinearity::smooth);
  pass("gate", x, 1, 3);  // x times the gate; back: x, dy and the gate, for dx and the gate's sums
}

void Layers::loss(const Feature& logits) {
  if (!b_.training()) return;
  const std::int64_t rows = b_.options.batch * logits.height * logits.width;
  b_.forward({.name = "loss", .kernel = b_.vector(Op::softmax, rows, logits.channels)});
  b_.backward({{.name = "loss gradient", .kernel = b_.vector(Op::softmax_backward, rows, logits.channels)}});
}

}  // namespace tessera
