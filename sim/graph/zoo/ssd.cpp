// SSD300 on VGG16: Liu et al., arXiv 1512.02325, figure 2; anchors and classes as torchvision's COCO weights.
#include <array>

#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

Feature conv_relu(Layers& net, const Feature& x, Conv conv) {
  conv.bias = true;
  const Feature y = net.conv(x, conv);
  net.activation(y, Nonlinearity::relu);
  return y;
}

/// Scores and boxes of every anchor of a map.
void heads(GraphBuilder& b, Layers& net, const Feature& x, std::int64_t anchors) {
  net.fork(x, 3);
  const Feature scores = net.conv(x, {.out = anchors * b.config.classes, .kernel = 3, .pad = 1, .bias = true});
  net.concat(scores, scores.channels);
  const Feature boxes = net.conv(x, {.out = anchors * 4, .kernel = 3, .pad = 1, .bias = true});
  net.concat(boxes, boxes.channels);
  net.loss({b.config.classes, anchors * x.height, x.width});
}

/// Divided by its length over the channels, times a learned scale.
void l2_norm(GraphBuilder& b, Layers& net, const Feature& x) {
  net.pass("l2 norm", x, 2, 4);
  Steps steps{{.name = "l2 norm scale gradient",
               .kernel = b.memory(2 * b.options.batch * x.elements(), x.channels),
               .parameter_gradient = true}};
  b.complete(steps, b.parameter("l2 norm scale", x.channels));
  b.backward(steps);
}

}  // namespace

void build_ssd300(GraphBuilder& b) {
  Layers net(b);
  Feature x = net.input(3, b.config.image, b.config.image);
  const std::int64_t widths[] = {64, 128, 256, 512}, depths[] = {2, 2, 3, 3};
  for (int stage = 0; stage < 4; ++stage) {
    if (stage > 0) x = net.pool(x, 2, 2, 0, stage == 3);
    for (std::int64_t i = 0; i < depths[stage]; ++i)
      x = conv_relu(net, x, {.out = widths[stage], .kernel = 3, .pad = 1});
  }
  l2_norm(b, net, x);
  heads(b, net, x, 4);
  x = net.pool(x, 2, 2);
  for (int i = 0; i < 3; ++i) x = conv_relu(net, x, {.out = 512, .kernel = 3, .pad = 1});
  x = net.pool(x, 3, 1, 1);
  x = conv_relu(net, x, {.out = 1024, .kernel = 3, .pad = 1});  // its dilation of 6 changes neither shape nor work
  x = conv_relu(net, x, {.out = 1024});
  heads(b, net, x, 6);
  struct Extra {
    std::int64_t inner, out, stride, pad, anchors;
  };
  constexpr std::array<Extra, 4> kExtras{
      {{256, 512, 2, 1, 6}, {128, 256, 2, 1, 6}, {128, 256, 1, 0, 4}, {128, 256, 1, 0, 4}}};
  for (const Extra& e : kExtras) {
    x = conv_relu(net, x, {.out = e.inner});
    x = conv_relu(net, x, {.out = e.out, .kernel = 3, .stride = e.stride, .pad = e.pad});
    heads(b, net, x, e.anchors);
  }
}

}  // namespace tessera
