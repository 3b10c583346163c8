// U-Net (Ronneberger et al., arXiv 1505.04597, figure 1) and CycleGAN (Zhu et al., arXiv 1703.10593, section 7.2).
#include <array>

#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

Feature double_conv(Layers& net, Feature x, std::int64_t out) {
  for (int i = 0; i < 2; ++i) {
    x = net.conv(x, {.out = out, .kernel = 3, .bias = true});
    net.activation(x, Nonlinearity::relu);
  }
  return x;
}

Feature conv_instance(Layers& net, const Feature& x, Conv conv) {
  conv.bias = true;
  const Feature y = net.conv(x, conv);
  net.instance_norm(y);
  net.activation(y, Nonlinearity::relu);
  return y;
}

/// c7s1-64, d128, d256, nine R256, u128, u64, c7s1-3.
Feature generator(Layers& net, const Feature& image) {
  Feature x = conv_instance(net, image, {.out = 64, .kernel = 7, .pad = 3});
  for (const std::int64_t out : {128, 256}) x = conv_instance(net, x, {.out = out, .kernel = 3, .stride = 2, .pad = 1});
  for (int i = 0; i < 9; ++i) {
    net.fork(x, 2);
    const Feature inner = conv_instance(net, x, {.out = 256, .kernel = 3, .pad = 1});
    net.instance_norm(net.conv(inner, {.out = 256, .kernel = 3, .pad = 1, .bias = true}));
    net.add(x);
  }
  for (const std::int64_t out : {128, 64}) {
    x = net.transposed_conv(x, {.out = out, .kernel = 3, .stride = 2, .pad = 1, .bias = true}, 2 * x.height);
    net.instance_norm(x);
    net.activation(x, Nonlinearity::relu);
  }
  x = net.conv(x, {.out = 3, .kernel = 7, .pad = 3, .bias = true});
  net.activation(x, Nonlinearity::smooth);
  return x;
}

/// C64-C128-C256-C512 on patches of 70 pixels.
void discriminator(Layers& net, Feature x) {
  x = net.conv(x, {.out = 64, .kernel = 4, .stride = 2, .pad = 1, .bias = true});
  net.activation(x, Nonlinearity::relu);
  for (const std::int64_t out : {128, 256, 512})
    x = conv_instance(net, x, {.out = out, .kernel = 4, .stride = out < 512 ? 2 : 1, .pad = 1});
  x = net.conv(x, {.out = 1, .kernel = 4, .pad = 1, .bias = true});
  net.pass("adversarial loss", x, 2, 2);
}

}  // namespace

void build_unet(GraphBuilder& b) {
  Layers net(b);
  Feature x = net.input(1, b.config.image, b.config.image);
  std::array<Feature, 4> skipped;
  std::int64_t width = 64;
  for (Feature& skip : skipped) {
    skip = double_conv(net, x, width);
    net.fork(skip, 2);
    x = net.pool(skip, 2, 2);
    width *= 2;
  }
  x = double_conv(net, x, width);
  for (int i = 0; i < 4; ++i) {
    width /= 2;
    x = net.transposed_conv(x, {.out = width, .kernel = 2, .stride = 2, .bias = true}, 2 * x.height);
    x = double_conv(net, net.concat(x, 2 * width), width);  // beside the cropped skip
  }
  net.loss(net.conv(x, {.out = b.config.classes, .bias = true}));
}

// Inference is one generator. A training step runs both generators three times (translation, cycle, identity) and each
// discriminator three times (for its generator, on a real and on a pooled image).
void build_cyclegan(GraphBuilder& b) {
  Layers net(b);
  const Feature image = net.input(3, b.config.image, b.config.image);
  if (!b.training()) {
    generator(net, image);
    return;
  }
  for (int direction = 0; direction < 2; ++direction) {
    net.share_weights(false);
    const Feature fake = generator(net, image);
    net.share_weights(true);
    net.fork(fake, 2);
    generator(net, fake);
    generator(net, image);
    net.share_weights(false);
    discriminator(net, fake);
    net.share_weights(true);
    for (int i = 0; i < 2; ++i) discriminator(net, image);
  }
}

}  // namespace tessera
