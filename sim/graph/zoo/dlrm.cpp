// DLRM (Naumov et al., arXiv 1906.00091) in the shape of its repository's Criteo Kaggle run: tables of width 16, bottom
// 13-512-256-64-16, dot products of all pairs of 27 vectors, top 367-512-256-1. The 26 tables have 33,762,577 rows.
#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kTables = 26, kRows = 33'762'577, kWidth = 16, kDense = 13;

Feature perceptron(Layers& net, Feature x, std::initializer_list<std::int64_t> widths) {
  for (const std::int64_t out : widths) {
    x = net.dense(x, out);
    net.activation(x, Nonlinearity::relu);
  }
  return x;
}

}  // namespace

void build_dlrm(GraphBuilder& b) {
  const std::int64_t batch = b.options.batch, vectors = kTables + 1;
  Layers net(b);
  perceptron(net, net.input(kDense, 1, 1), {512, 256, 64, kWidth});
  const ParameterId tables = b.parameter("embedding tables", kRows * kWidth);
  for (std::int64_t i = 0; i < kTables; ++i) {
    b.forward({.name = "embedding", .kernel = b.vector(Op::embedding, batch, kWidth)});
    b.backward({{.name = "embedding gradient",  // sparse: the rows that were read
                 .kernel = b.vector(Op::embedding_backward, batch, kWidth),
                 .gradient_of = i == 0 ? tables : kNoParameter,
                 .parameter_gradient = true}});
  }
  const Feature joined = net.concat({1, vectors, kWidth}, 1);
  const GemmShape pairs{.batch = batch, .m = vectors, .n = vectors, .k = kWidth};
  b.forward({.name = "interaction", .kernel = b.gemm(Op::bmm, pairs)});
  const GemmShape back{.batch = batch, .m = vectors, .n = kWidth, .k = vectors, .layout = GemmLayout::nn};
  b.backward({{.name = "interaction gradient", .kernel = b.gemm(Op::bmm, back)},
              {.name = "interaction gradient", .kernel = b.gemm(Op::bmm, back)}});
  const std::int64_t in = kWidth + vectors * (vectors - 1) / 2;
  net.concat({in, joined.channels, 1}, in);
  Feature x = perceptron(net, {in, 1, 1}, {512, 256});
  x = net.dense(x, 1);
  net.loss({2, 1, 1});  // of two outcomes
}

}  // namespace tessera
