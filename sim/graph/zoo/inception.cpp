// Inception-v3: Szegedy et al., arXiv 1512.00567, as torchvision has it, without the auxiliary classifier.
#include <initializer_list>

#include "sim/graph/zoo/layers.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

class Inception {
 public:
  explicit Inception(Layers& net) : net_(net) {}

  /// Convolutions one after the other; the result's channels add to the block's.
  void branch(const Feature& x, std::initializer_list<Conv> convs) {
    Feature y = x;
    for (const Conv& conv : convs) y = net_.conv_norm(y, conv);
    out_.channels += y.channels, out_.height = y.height, out_.width = y.width;
  }
  void pooled(const Feature& x) { out_.channels += net_.pool(x, 3, 2).channels; }
  void average(const Feature& x, std::int64_t out) { branch(net_.pool(x, 3, 1, 1), {{.out = out}}); }
  /// The block's result; the next block begins.
  Feature join() {
    const Feature y = net_.concat(out_, out_.channels);
    out_ = {};
    return y;
  }

 private:
  Layers& net_;
  Feature out_;
};

constexpr Conv wide(std::int64_t out) {  // 1 x 7
  return {.out = out, .kernel = 1, .pad = 0, .kernel_w = 7, .pad_w = 3};
}
constexpr Conv tall(std::int64_t out) {
  return {.out = out, .kernel = 7, .pad = 3, .kernel_w = 1, .pad_w = 0};
}
constexpr Conv square(std::int64_t out) {
  return {.out = out, .kernel = 3, .pad = 1};
}
constexpr Conv halving(std::int64_t out) {
  return {.out = out, .kernel = 3, .stride = 2};
}

Feature block_a(Layers& net, const Feature& x, std::int64_t pooled) {
  Inception block(net);
  net.fork(x, 4);
  block.branch(x, {{.out = 64}});
  block.branch(x, {{.out = 48}, {.out = 64, .kernel = 5, .pad = 2}});
  block.branch(x, {{.out = 64}, square(96), square(96)});
  block.average(x, pooled);
  return block.join();
}

Feature block_b(Layers& net, const Feature& x) {
  Inception block(net);
  net.fork(x, 3);
  block.branch(x, {halving(384)});
  block.branch(x, {{.out = 64}, square(96), halving(96)});
  block.pooled(x);
  return block.join();
}

Feature block_c(Layers& net, const Feature& x, std::int64_t inner) {
  Inception block(net);
  net.fork(x, 4);
  block.branch(x, {{.out = 192}});
  block.branch(x, {{.out = inner}, wide(inner), tall(192)});
  block.branch(x, {{.out = inner}, tall(inner), wide(inner), tall(inner), wide(192)});
  block.average(x, 192);
  return block.join();
}

Feature block_d(Layers& net, const Feature& x) {
  Inception block(net);
  net.fork(x, 3);
  block.branch(x, {{.out = 192}, halving(320)});
  block.branch(x, {{.out = 192}, wide(192), tall(192), halving(192)});
  block.pooled(x);
  return block.join();
}

Feature block_e(Layers& net, const Feature& x) {
  constexpr Conv kWide{.out = 384, .kernel = 1, .kernel_w = 3, .pad_w = 1};
  constexpr Conv kTall{.out = 384, .kernel = 3, .pad = 1, .kernel_w = 1, .pad_w = 0};
  Inception block(net);
  net.fork(x, 4);
  block.branch(x, {{.out = 320}});
  const Feature one = net.conv_norm(x, {.out = 384});
  net.fork(one, 2);
  block.branch(one, {kWide});
  block.branch(one, {kTall});
  const Feature two = net.conv_norm(net.conv_norm(x, {.out = 448}), square(384));
  net.fork(two, 2);
  block.branch(two, {kWide});
  block.branch(two, {kTall});
  block.average(x, 192);
  return block.join();
}

}  // namespace

void build_inception_v3(GraphBuilder& b) {
  Layers net(b);
  Feature x = net.conv_norm(net.input(3, b.config.image, b.config.image), halving(32));
  x = net.conv_norm(x, {.out = 32, .kernel = 3});
  x = net.pool(net.conv_norm(x, square(64)), 3, 2);
  x = net.conv_norm(x, {.out = 80});
  x = net.pool(net.conv_norm(x, {.out = 192, .kernel = 3}), 3, 2);
  for (const std::int64_t pooled : {32, 64, 64}) x = block_a(net, x, pooled);
  x = block_b(net, x);
  for (const std::int64_t inner : {128, 160, 160, 192}) x = block_c(net, x, inner);
  x = block_d(net, x);
  for (int i = 0; i < 2; ++i) x = block_e(net, x);
  net.loss(net.dense(net.global_pool(x), b.config.classes));
}

}  // namespace tessera
