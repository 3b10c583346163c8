// MobileNetV2 (arXiv 1801.04381, table 2), MobileNetV3-Large (1905.02244, table 1), EfficientNet-B0 (1905.11946, table
// 1).
#include <algorithm>

#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

/// An inverted residual: expand, depthwise, squeeze and excite, project.
struct Block {
  std::int64_t kernel = 3, inner = 0, out = 0, squeezed = 0, stride = 1;
  Nonlinearity kind = Nonlinearity::relu;
};

Feature inverted_residual(Layers& net, const Feature& x, const Block& block) {
  const bool residual = block.stride == 1 && x.channels == block.out;
  if (residual) net.fork(x, 2);
  Feature y = x;
  if (block.inner != x.channels) y = net.conv_norm(y, {.out = block.inner}, block.kind);
  y = net.conv_norm(y,
                    {.out = block.inner,
                     .kernel = block.kernel,
                     .stride = block.stride,
                     .pad = block.kernel / 2,
                     .groups = block.inner},
                    block.kind);
  if (block.squeezed > 0) net.squeeze_excite(y, block.squeezed);
  y = net.conv_norm(y, {.out = block.out}, Nonlinearity::none);
  if (residual) net.add(y);
  return y;
}

/// To a multiple of 8, and no more than a tenth below (the papers' code).
std::int64_t rounded(std::int64_t channels) {
  const std::int64_t up = std::max<std::int64_t>(8, (channels + 4) / 8 * 8);
  return 10 * up < 9 * channels ? up + 8 : up;
}

/// `repeats` blocks, the first with the stride.
struct Stage {
  std::int64_t expand, kernel, stride, out, repeats;
};

template <std::size_t N>
Feature stages(Layers& net, Feature x, const Stage (&table)[N], Nonlinearity kind, bool excite) {
  for (const Stage& s : table)
    for (std::int64_t i = 0; i < s.repeats; ++i)
      x = inverted_residual(net, x,
                            {.kernel = s.kernel,
                             .inner = x.channels * s.expand,
                             .out = s.out,
                             .squeezed = excite ? std::max<std::int64_t>(1, x.channels / 4) : 0,
                             .stride = i == 0 ? s.stride : 1,
                             .kind = kind});
  return x;
}

Feature stem(GraphBuilder& b, Layers& net, std::int64_t out, Nonlinearity kind) {
  return net.conv_norm(net.input(3, b.config.image, b.config.image), {.out = out, .kernel = 3, .stride = 2, .pad = 1},
                       kind);
}

}  // namespace

void build_mobilenet_v2(GraphBuilder& b) {
  Layers net(b);
  constexpr Stage kStages[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 3, 2, 32, 3}, {6, 3, 2, 64, 4},
                               {6, 3, 1, 96, 3}, {6, 3, 2, 160, 3}, {6, 3, 1, 320, 1}};
  Feature x = stages(net, stem(b, net, 32, Nonlinearity::relu), kStages, Nonlinearity::relu, false);
  x = net.conv_norm(x, {.out = 1280});
  net.loss(net.dense(net.global_pool(x), b.config.classes));
}

void build_mobilenet_v3(GraphBuilder& b) {
  Layers net(b);
  struct Row {
    std::int64_t kernel, inner, out;
    bool excite, hard_swish;
    std::int64_t stride;
  };
  constexpr Row kRows[] = {{3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
                           {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
                           {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
                           {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
                           {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}};
  Feature x = stem(b, net, 16, Nonlinearity::smooth);
  for (const Row& row : kRows)
    x = inverted_residual(net, x,
                          {.kernel = row.kernel,
                           .inner = row.inner,
                           .out = row.out,
                           .squeezed = row.excite ? rounded(row.inner / 4) : 0,
                           .stride = row.stride,
                           .kind = row.hard_swish ? Nonlinearity::smooth : Nonlinearity::relu});
  x = net.conv_norm(x, {.out = 960}, Nonlinearity::smooth);
  x = net.dense(net.global_pool(x), 1280);
  net.activation(x, Nonlinearity::smooth);
  net.loss(net.dense(x, b.config.classes));
}

void build_efficientnet_b0(GraphBuilder& b) {
  Layers net(b);
  constexpr Stage kStages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                               {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  Feature x = stages(net, stem(b, net, 32, Nonlinearity::smooth), kStages, Nonlinearity::smooth, true);
  x = net.conv_norm(x, {.out = 1280}, Nonlinearity::smooth);
  net.loss(net.dense(net.global_pool(x), b.config.classes));
}

}  // namespace tessera
