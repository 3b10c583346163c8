// LSTM language model (Zaremba et al., arXiv 1409.2329) and DeepSpeech2 (Amodei et al., arXiv 1512.02595, section 3).
#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kGates = 4;  // input, forget, cell, output

/// One direction of one layer as cuDNN runs it: the inputs of all steps in one GEMM, then for each step the recurrent
/// GEMM and the gates. Backward: per step the gates and the state's gradient; weights of all steps at once.
void lstm_layer(GraphBuilder& b, std::int64_t steps, std::int64_t in, std::int64_t hidden) {
  const std::int64_t batch = b.options.batch, gates = kGates * hidden;
  b.linear({.name = "lstm input", .rows = steps * batch, .in = in, .out = gates, .bias = true});
  const Step recurrent{.name = "lstm recurrent", .kernel = b.gemm(Op::linear, {.m = batch, .n = gates, .k = hidden})};
  const Step gate{.name = "lstm gates", .kernel = b.memory(batch * (2 * gates + hidden), batch * 2 * hidden)};
  for (std::int64_t i = 0; i < steps; ++i) {
    b.forward(recurrent);
    b.forward(gate);
  }
  Steps back;
  for (std::int64_t i = 0; i < steps; ++i) {
    back.push_back({.name = "lstm gates gradient", .kernel = b.memory(batch * (gates + 3 * hidden), batch * gates)});
    back.push_back({.name = "lstm recurrent gradient",
                    .kernel = b.gemm(Op::gemm, {.m = batch, .n = hidden, .k = gates, .layout = GemmLayout::nn})});
  }
  back.push_back({.name = "lstm recurrent weight gradient",
                  .kernel = b.gemm(Op::gemm, {.m = gates, .n = hidden, .k = steps * batch, .layout = GemmLayout::nt}),
                  .parameter_gradient = true});
  b.complete(back, b.parameter("lstm recurrent weight", gates * hidden));
  back.push_back({.name = "lstm bias gradient",  // beside the input's
                  .kernel = b.memory(steps * batch * gates, gates),
                  .parameter_gradient = true});
  b.complete(back, b.parameter("lstm recurrent bias", gates));
  b.backward(back);
}

}  // namespace

void build_lstm(GraphBuilder& b) {
  const std::int64_t rows = b.tokens(), hidden = b.config.hidden;
  Layers net(b);
  b.embedding("token embedding", rows, b.config.vocab, false, false);
  for (std::int64_t i = 0; i < b.config.layers; ++i) {
    b.dropout("dropout", rows * hidden, 0.5);
    lstm_layer(b, b.options.sequence, hidden, hidden);
  }
  b.dropout("dropout", rows * hidden, 0.5);
  b.linear({.name = "language model head", .rows = rows, .in = hidden, .out = b.config.vocab, .bias = true});
  net.loss({b.config.vocab, b.options.sequence, 1});
}

// 161 frequencies of 10 ms frames; two convolutions halve the frames and leave 41 frequencies of 32 channels; layers of
// both directions, whose outputs are added.
void build_deepspeech2(GraphBuilder& b) {
  Layers net(b);
  constexpr std::int64_t kFrequencies = 161;
  Feature x = net.input(1, kFrequencies, b.options.sequence);
  x = net.conv_norm(x, {.out = 32, .kernel = 41, .stride = 2, .pad = 20, .kernel_w = 11, .stride_w = 2, .pad_w = 5});
  x = net.conv_norm(x, {.out = 32, .kernel = 21, .stride = 2, .pad = 10, .kernel_w = 11, .stride_w = 1, .pad_w = 5});
  const std::int64_t steps = x.width, hidden = b.config.hidden;
  std::int64_t in = x.channels * x.height;
  for (std::int64_t layer = 0; layer < b.config.layers; ++layer) {
    if (layer > 0) net.batch_norm({in, steps, 1});
    net.fork({in, steps, 1}, 2);
    for (int direction = 0; direction < 2; ++direction) lstm_layer(b, steps, in, hidden);
    net.add({hidden, steps, 1});
    in = hidden;
  }
  net.batch_norm({in, steps, 1});
  b.linear({.name = "characters", .rows = b.options.batch * steps, .in = in, .out = b.config.classes});
  net.loss({b.config.classes, steps, 1});
}

}  // namespace tessera
