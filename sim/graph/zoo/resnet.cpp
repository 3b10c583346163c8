// Residual networks: He et al., arXiv 1512.03385, table 1; of two strides in a bottleneck the 3x3 has it (torchvision).
#include <array>

#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

struct Shape {
  std::array<int, 4> blocks;
  bool bottleneck = false;
  bool small_images = false;  // 3x3 stem without pooling, as for CIFAR-10
};

Feature block(Layers& net, const Feature& x, std::int64_t width, std::int64_t stride, bool bottleneck) {
  const std::int64_t out = bottleneck ? 4 * width : width;
  net.fork(x, 2);
  Feature y;
  if (bottleneck) {
    y = net.conv_norm(x, {.out = width});
    y = net.conv_norm(y, {.out = width, .kernel = 3, .stride = stride, .pad = 1});
    y = net.conv_norm(y, {.out = out}, Nonlinearity::none);
  } else {
    y = net.conv_norm(x, {.out = width, .kernel = 3, .stride = stride, .pad = 1});
    y = net.conv_norm(y, {.out = width, .kernel = 3, .pad = 1}, Nonlinearity::none);
  }
  if (stride != 1 || x.channels != out) net.conv_norm(x, {.out = out, .stride = stride}, Nonlinearity::none);
  net.add(y);
  net.activation(y, Nonlinearity::relu);
  return y;
}

void resnet(GraphBuilder& b, const Shape& shape) {
  Layers net(b);
  Feature x = net.input(3, b.config.image, b.config.image);
  if (shape.small_images) {
    x = net.conv_norm(x, {.out = 64, .kernel = 3, .pad = 1});
  } else {
    x = net.conv_norm(x, {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
    x = net.pool(x, 3, 2, 1);
  }
  for (std::size_t stage = 0; stage < 4; ++stage)
    for (int i = 0; i < shape.blocks[stage]; ++i)
      x = block(net, x, std::int64_t{64} << stage, i == 0 && stage > 0 ? 2 : 1, shape.bottleneck);
  net.loss(net.dense(net.global_pool(x), b.config.classes));
}

}  // namespace

void build_resnet18(GraphBuilder& b) {
  resnet(b, {{2, 2, 2, 2}});
}
void build_resnet18_cifar(GraphBuilder& b) {
  resnet(b, {.blocks = {2, 2, 2, 2}, .small_images = true});
}
void build_resnet34(GraphBuilder& b) {
  resnet(b, {{3, 4, 6, 3}});
}
void build_resnet50(GraphBuilder& b) {
  resnet(b, {.blocks = {3, 4, 6, 3}, .bottleneck = true});
}
void build_resnet101(GraphBuilder& b) {
  resnet(b, {.blocks = {3, 4, 23, 3}, .bottleneck = true});
}
void build_resnet152(GraphBuilder& b) {
  resnet(b, {.blocks = {3, 8, 36, 3}, .bottleneck = true});
}

}  // namespace tessera
