// The modules that all architectures are made of, as PyTorch runs them.
#include <fmt/format.h>

#include "sim/graph/builder.hpp"

namespace tessera {

namespace {

Split weight_split(Parallel parallel) {
  return parallel == Parallel::none ? Split::none : Split::width;
}

struct GemmSplits {
  Split forward = Split::none, input_gradient = Split::none, weight_gradient = Split::none;
};
GemmSplits gemm_splits(Parallel parallel) {
  switch (parallel) {
    case Parallel::column:
      return {Split::columns, Split::rows, Split::m};
    case Parallel::row:
      return {Split::rows, Split::columns, Split::columns};
    case Parallel::none:
      return {};
  }
  return {};
}

}  // namespace

Kernel GraphBuilder::product(Op op, const GemmShape& shape, bool narrow) const {
  return {op, narrow ? options.products.value_or(options.dtype) : options.dtype, shape};
}

/// One scale a tensor: two copies, which a fusing compiler casts where the tensor is made; the weights' own cast is one
/// more read of them. A scale a row (torchao's rowwise recipe): a product's scales run along its depth, so that each of
/// the two products that read an operand has a copy of its own, `copies` of them here, each from a pass over the
/// tensor.
std::optional<Step> GraphBuilder::cast(const Linear& l, std::int64_t elements, int copies, Split split) const {
  if (!l.narrow || !options.products) return std::nullopt;
  const Bytes narrow = static_cast<double>(elements) * element_size(*options.products);
  const Bytes read = options.row_scales ? copies * size(elements) : options.fused ? Bytes(0) : size(elements);
  return Step{.name = "cast",
              .kernel = bytes(read, (options.row_scales ? copies : 2) * narrow),
              .split = split,
              .share = split == Split::none ? Share::tp : l.share};
}

/// What rows' scales take besides: weights and inputs along their other dimension.
void GraphBuilder::cast_rows_again(const Linear& l, Split input, Steps& backward) const {
  if (!options.row_scales) return;
  const Split weight = weight_split(l.parallel);
  for (const auto& step : {cast(l, l.rows * l.in, 1, input), cast(l, l.in * l.out, 1, weight)})
    if (step) backward.insert(backward.begin(), *step);
}

void GraphBuilder::linear(const Linear& l) {
  const bool column = l.parallel == Parallel::column;
  const GemmSplits splits = gemm_splits(l.parallel);
  const Bytes output_sum = l.parallel == Parallel::row && l.sums_over_tp ? size(l.rows * l.out) : Bytes(0);
  const Bytes input_sum = column && l.sums_over_tp ? size(l.rows * l.in) : Bytes(0);
  const Split input_split = l.parallel == Parallel::row ? Split::width : Split::none;
  const auto cast_input = cast(l, l.rows * l.in, 1, input_split);
  const auto cast_gradient = cast(l, l.rows * l.out, 2, column ? Split::width : Split::none);
  if (cast_input) forward(*cast_input);
  if (cast_input && options.row_scales) forward(*cast(l, l.in * l.out, 1, weight_split(l.parallel)));
  forward({.name = std::string(l.name),
           .kernel = product(Op::linear, {.m = l.rows, .n = l.out, .k = l.in, .bias = l.bias}, l.narrow),
           .split = splits.forward,
           .share = l.share,
           .reduced_over_tp = output_sum});
  const bool owns = l.tied == kNoParameter;
  const ParameterId weight =
      owns ? parameter(fmt::format("{} weight", l.name), l.in * l.out, weight_split(l.parallel), l.share) : l.tied;
  // y = x W^T + b: dx = dy W, dW = dy^T x, db = column sums of dy.
  Steps steps{{.name = fmt::format("{} input gradient", l.name),
               .kernel = product(Op::gemm, {.m = l.rows, .n = l.in, .k = l.out, .layout = GemmLayout::nn}, l.narrow),
               .split = splits.input_gradient,
               .share = l.share,
               .reduced_over_tp = input_sum},
              {.name = fmt::format("{} weight gradient", l.name),
               .kernel = product(Op::gemm, {.m = l.out, .n = l.in, .k = l.rows, .layout = GemmLayout::nt}, l.narrow),
               .split = splits.weight_gradient,
               .share = l.share,
               .parameter_gradient = true}};
  if (cast_gradient) steps.insert(steps.begin(), *cast_gradient);
  cast_rows_again(l, input_split, steps);
  if (owns) complete(steps, weight);
  if (l.bias) {
    const Split split = column ? Split::width : Split::none;
    const ParameterId bias = parameter(fmt::format("{} bias", l.name), l.out, split, l.share);
    steps.push_back({.name = fmt::format("{} bias gradient", l.name),
                     .kernel = memory(l.rows * l.out, l.out),
                     .split = split,
                     .share = l.share,
                     .parameter_gradient = true});
    complete(steps, bias);
  }
  backward(steps);
}

void GraphBuilder::layernorm(std::string_view name, std::int64_t rows, std::int64_t h) {
  forward({.name = std::string(name), .kernel = vector(Op::layernorm, rows, h)});
  const ParameterId weight = parameter(fmt::format("{} weight and bias", name), 2 * h);
  Steps steps{{.name = std::string(name), .kernel = vector(Op::layernorm_backward, rows, h)}};
  complete(steps, weight);
  backward(steps);
}

void GraphBuilder::rmsnorm(std::string_view name, std::int64_t rows, std::int64_t h, bool unfused, Split split,
                           Share share) {
  const ParameterId weight = parameter(fmt::format("{} weight", name), h);
  const Step fused_forward{
      .name = std::string(name), .kernel = vector(Op::rmsnorm, rows, h), .split = split, .share = share};
  const Step fused_backward{
      .name = std::string(name), .kernel = vector(Op::rmsnorm_backward, rows, h), .split = split, .share = share};
  Steps done;
  if (!unfused || options.fused) {
    forward(fused_forward);
    done = {fused_backward};
    complete(done, weight);
    return backward(done);
  }
  // w * (x * rsqrt(mean(x^2) + eps)), in fp32 between casts where the model is of 16 bits.
  const auto step = [&](const Kernel& kernel) {
    return Step{.name = std::string(name), .kernel = kernel, .split = split, .share = share};
  };
  const auto wide = [&](Op op, std::int64_t columns) { return step({op, Dtype::fp32, VectorShape{rows, columns}}); };
  const auto move = [&](double read, double written) { return step(bytes(Bytes(4 * read), Bytes(4 * written))); };
  const auto n = static_cast<double>(rows * h), r = static_cast<double>(rows);
  Steps steps;
  if (mixed()) steps.push_back(step(bytes(size(rows * h), Bytes(4 * n))));
  steps.insert(steps.end(), {wide(Op::powu, h), move(n, r), wide(Op::addu, 1), move(r, r), move(n + r, n)});
  if (mixed()) steps.push_back(step(bytes(Bytes(4 * n), size(rows * h))));
  steps.push_back(step(memory(rows * h + h, rows * h)));
  for (const Step& s : steps) forward(s);
  done = {step(memory(rows * h + h, rows * h)), step(vector(Op::mul, rows, h)), step(memory(rows * h, h))};
  complete(done, weight);
  if (mixed()) done.push_back(step(bytes(size(rows * h), Bytes(4 * n))));
  // x * r: dx = dy * r, dr = row sums of dy * x; r = rsqrt(v); v = mean(x^2), spread back over the row.
  done.insert(done.end(), {move(n + r, n), wide(Op::mul, h), move(n, r), move(3 * r, r), move(r, n), wide(Op::powu, h),
                           wide(Op::mulu, h), wide(Op::mul, h), wide(Op::add, h)});
  if (mixed()) done.push_back(step(bytes(Bytes(4 * n), size(rows * h))));
  backward(done);
}

void GraphBuilder::norm(std::string_view name, std::int64_t rows) {
  if (config.norm == Norm::layernorm) return layernorm(name, rows, config.hidden);
  rmsnorm(name, rows, config.hidden, !flash());
}

void GraphBuilder::dropout(std::string_view name, std::int64_t elements, double probability, Split split) {
  if (!training() || probability <= 0) return;
  const Bytes values = size(elements), mask(static_cast<double>(elements));  // one byte each
  forward({.name = std::string(name), .kernel = bytes(values, values + mask), .split = split});
  backward({{.name = std::string(name), .kernel = bytes(values + mask, values), .split = split}});
}

Steps GraphBuilder::gelu_new_backward(std::string_view name, std::int64_t rows, std::int64_t h, Split split) const {
  Steps steps;
  // From the end: product (2), tanh, scale, power (3), half, and the sum of x's three gradients (2).
  for (const Op op :
       {Op::mul, Op::mul, Op::mul, Op::mulu, Op::mulu, Op::powu, Op::mulu, Op::mul, Op::mulu, Op::add, Op::add}) {
    steps.push_back({.name = std::string(name), .kernel = vector(op, rows, h), .split = split});
  }
  return steps;
}

void GraphBuilder::activation(std::string_view name, Activation activation, std::int64_t rows, std::int64_t h,
                              Split split) {
  const auto step = [&](Op op) {
    return Step{.name = std::string(name), .kernel = vector(op, rows, h), .split = split};
  };
  const Step gradient = step(Op::mul);  // reads x and dy, writes dx
  switch (activation) {
    case Activation::relu:
    case Activation::gelu:
    case Activation::silu:
      forward(step(activation == Activation::relu ? Op::relu : activation == Activation::gelu ? Op::gelu : Op::silu));
      return backward({gradient});
    case Activation::gelu_new:
      if (flash()) {
        forward(step(Op::gelu));
        return backward({gradient});
      }
      // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), a kernel for each sign
      return chain(step(Op::gelu),
                   {step(Op::mulu), step(Op::powu), step(Op::mulu), step(Op::add), step(Op::mulu), step(Op::tanh),
                    step(Op::addu), step(Op::mul)},
                   gradient, gelu_new_backward(name, rows, h, split));
  }
}

ParameterId GraphBuilder::embedding(std::string_view name, std::int64_t lookups, std::int64_t rows_of_table,
                                    bool split_vocabulary, bool tied) {
  const std::int64_t h = config.hidden;
  const Split split = split_vocabulary ? Split::width : Split::none;
  const Share share = split_vocabulary ? Share::vocab : Share::tp;
  forward({.name = std::string(name),
           .kernel = vector(Op::embedding, lookups, h),
           .reduced_over_tp = split_vocabulary ? size(lookups * h) : Bytes(0)});
  const ParameterId table = parameter(fmt::format("{} table", name), rows_of_table * h, split, share);
  Steps steps{{.name = "gradient fill", .kernel = memory(0, rows_of_table * h), .split = split, .share = share},
              {.name = std::string(name), .kernel = vector(Op::embedding_backward, lookups, h)}};
  if (tied) {  // with the head's weight gradient
    steps.push_back(
        {.name = "tied gradient sum", .kernel = vector(Op::add, 1, rows_of_table * h), .split = split, .share = share});
  }
  complete(steps, table);
  backward(steps);
  return table;
}

void GraphBuilder::add(std::string_view name, std::int64_t rows, std::int64_t h) {
  forward({.name = std::string(name), .kernel = vector(Op::add, rows, h)});
}

void GraphBuilder::copy(std::string_view name, std::int64_t elements, Split split, Share share) {
  forward({.name = std::string(name), .kernel = memory(elements, elements), .split = split, .share = share});
}

void GraphBuilder::branch(std::string_view name, std::int64_t rows, std::int64_t h, std::int64_t uses,
                          bool sum_over_tp) {
  Steps steps;
  for (std::int64_t i = 1; i < uses; ++i)
    steps.push_back({.name = std::string(name), .kernel = vector(Op::add, rows, h)});
  if (sum_over_tp && !steps.empty()) steps.back().reduced_over_tp = size(rows * h);
  backward(steps);
}

}  // namespace tessera
