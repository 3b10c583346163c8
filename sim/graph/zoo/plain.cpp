// AlexNet and VGG: convolutions one after the other, then wide linear layers.
#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kWide = 4096;

Feature conv_relu(Layers& net, const Feature& x, Conv conv) {
  conv.bias = true;
  const Feature y = net.conv(x, conv);
  net.activation(y, Nonlinearity::relu);
  return y;
}

void classifier(GraphBuilder& b, Layers& net, const Feature& x, double dropout) {
  Feature y = x;
  for (int i = 0; i < 2; ++i) {
    b.dropout("dropout", b.options.batch * y.elements(), dropout);
    y = net.dense(y, kWide);
    net.activation(y, Nonlinearity::relu);
  }
  net.loss(net.dense(y, b.config.classes));
}

/// Simonyan and Zisserman, arXiv 1409.1556, table 1: so many 3x3 convolutions between poolings.
void vgg(GraphBuilder& b, std::int64_t deep) {
  Layers net(b);
  Feature x = net.input(3, b.config.image, b.config.image);
  const std::int64_t widths[] = {64, 128, 256, 512, 512}, depths[] = {2, 2, deep, deep, deep};
  for (int stage = 0; stage < 5; ++stage) {
    for (std::int64_t i = 0; i < depths[stage]; ++i)
      x = conv_relu(net, x, {.out = widths[stage], .kernel = 3, .pad = 1});
    x = net.pool(x, 2, 2);
  }
  classifier(b, net, {x.channels, 7, 7}, 0.5);  // pooled to 7 x 7 where the image is not 224
}

}  // namespace

// The single-tower form (Krizhevsky, arXiv 1404.5997) that torchvision publishes.
void build_alexnet(GraphBuilder& b) {
  Layers net(b);
  Feature x = net.input(3, b.config.image, b.config.image);
  x = conv_relu(net, x, {.out = 64, .kernel = 11, .stride = 4, .pad = 2});
  x = net.pool(x, 3, 2);
  x = conv_relu(net, x, {.out = 192, .kernel = 5, .pad = 2});
  x = net.pool(x, 3, 2);
  for (const std::int64_t out : {384, 256, 256}) x = conv_relu(net, x, {.out = out, .kernel = 3, .pad = 1});
  x = net.pool(x, 3, 2);
  classifier(b, net, {x.channels, 6, 6}, 0.5);
}

void build_vgg16(GraphBuilder& b) {
  vgg(b, 3);
}

void build_vgg19(GraphBuilder& b) {
  vgg(b, 4);
}

}  // namespace tessera
