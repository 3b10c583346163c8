// DenseNet-BC: Huang et al., arXiv 1608.06993, table 1. Norm and nonlinearity come before each convolution.
#include <array>

#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

Feature norm_conv(Layers& net, const Feature& x, const Conv& conv) {
  net.batch_norm(x);
  net.activation(x, Nonlinearity::relu);
  return net.conv(x, conv);
}

void densenet(GraphBuilder& b, const std::array<int, 4>& blocks, std::int64_t growth, std::int64_t first) {
  Layers net(b);
  Feature x =
      net.conv_norm(net.input(3, b.config.image, b.config.image), {.out = first, .kernel = 7, .stride = 2, .pad = 3});
  x = net.pool(x, 3, 2, 1);
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int layer = 0; layer < blocks[stage]; ++layer) {
      net.fork(x, 2);
      const Feature inner = norm_conv(net, x, {.out = 4 * growth});
      norm_conv(net, inner, {.out = growth, .kernel = 3, .pad = 1});
      x = net.concat(x, x.channels + growth);
    }
    if (stage + 1 < blocks.size()) x = net.pool(norm_conv(net, x, {.out = x.channels / 2}), 2, 2);
  }
  net.batch_norm(x);
  net.activation(x, Nonlinearity::relu);
  net.loss(net.dense(net.global_pool(x), b.config.classes));
}

}  // namespace

void build_densenet121(GraphBuilder& b) {
  densenet(b, {6, 12, 24, 16}, 32, 64);
}
void build_densenet161(GraphBuilder& b) {
  densenet(b, {6, 12, 36, 24}, 48, 96);
}

}  // namespace tessera
