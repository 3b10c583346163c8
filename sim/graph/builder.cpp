#include "sim/graph/builder.hpp"

#include <utility>

namespace tessera {

Bytes GraphBuilder::size(std::int64_t elements) const {
  return static_cast<double>(elements) * element_size(options.dtype);
}

Kernel GraphBuilder::vector(Op op, std::int64_t rows, std::int64_t h) const {
  return {op, options.dtype, VectorShape{rows, h}};
}

Kernel GraphBuilder::gemm(Op op, const GemmShape& shape) const {
  return {op, options.dtype, shape};
}

Kernel GraphBuilder::memory(std::int64_t read, std::int64_t written) const {
  return {Op::memory, options.dtype, MemoryShape{size(read), size(written)}};
}

Kernel GraphBuilder::bytes(Bytes read, Bytes written) const {
  return {Op::memory, options.dtype, MemoryShape{read, written}};
}

void GraphBuilder::emit(const Step& step, Phase phase, std::int32_t layer) {
  graph_.operators.push_back({.kernel = step.kernel,
                              .phase = phase,
                              .layer = layer,
                              .name = graph_.intern(step.name),
                              .split = step.split,
                              .share = step.share,
                              .reduced_over_tp = step.reduced_over_tp,
                              .passed_over_cp = step.passed_over_cp,
                              .routed_over_ep = step.routed_over_ep,
                              .gradient_of = step.gradient_of,
                              .parameter_gradient = step.parameter_gradient,
                              .core_attention = core_attention_ && phase == Phase::forward});
}

void GraphBuilder::forward(const Step& step) {
  emit(step, Phase::forward, layer_);
}

void GraphBuilder::backward(Steps steps) {
  if (training() && !steps.empty()) tape_.push_back({layer_, std::move(steps)});
}

void GraphBuilder::chain(const Step& fused_forward, const Steps& forward_steps, const Step& fused_backward,
                         const Steps& backward_steps) {
  if (options.fused) {
    forward(fused_forward);
    backward({fused_backward});
    return;
  }
  for (const Step& step : forward_steps) forward(step);
  backward(backward_steps);
}

void GraphBuilder::play_backward() {
  for (; !tape_.empty(); tape_.pop_back()) {
    for (const Step& step : tape_.back().steps) emit(step, step.phase, tape_.back().layer);
  }
}

ParameterId GraphBuilder::parameter(std::string_view name, std::int64_t elements, Split split, Share share) {
  graph_.parameters.push_back(
      {.name = graph_.intern(name), .elements = elements, .layer = layer_, .split = split, .share = share});
  return static_cast<ParameterId>(graph_.parameters.size() - 1);
}

void GraphBuilder::complete(Steps& steps, ParameterId id) const {
  const Parameter& parameter = graph_.parameters[static_cast<std::size_t>(id)];
  if (options.accumulate) {
    // accumulated += fresh: 3 x parameter bytes
    steps.push_back({.name = "gradient accumulation",
                     .kernel = vector(Op::add, 1, parameter.elements),
                     .split = parameter.split,
                     .share = parameter.share,
                     .parameter_gradient = true,
                     .phase = Phase::accumulate});
  }
  steps.back().gradient_of = id;
}

}  // namespace tessera
