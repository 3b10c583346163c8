// Layers on feature maps, as PyTorch runs them with cuDNN: kernels forward, and the tape that is backward.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/graph/builder.hpp"

namespace tessera {

/// What flows between layers: one sample's channels of height x width.
struct Feature {
  std::int64_t channels = 0, height = 0, width = 0;
  bool is_input = false;  // nobody asks for its gradient
  [[nodiscard]] std::int64_t elements() const { return channels * height * width; }
};

enum class Nonlinearity : std::uint8_t { none, relu, smooth };  // smooth: SiLU, hard swish, tanh, sigmoid

struct Conv {
  std::int64_t out = 0, kernel = 1, stride = 1, pad = 0, groups = 1;
  bool bias = false;
  std::int64_t kernel_w = 0, stride_w = 0, pad_w = -1;  // not square: as in ConvShape
};

/// Emits into a GraphBuilder. `fused` graphs fold batch norms into the convolutions of inference, and run bias,
/// normalisation and nonlinearity as one kernel with what they follow.
class Layers {
 public:
  explicit Layers(GraphBuilder& b) : b_(b) {}

  /// The next layers use weights that earlier ones own.
  void share_weights(bool shared) { shared_ = shared; }
  [[nodiscard]] Feature input(std::int64_t channels, std::int64_t height, std::int64_t width) const {
    return {channels, height, width, true};
  }

  Feature conv(const Feature& x, const Conv& conv);
  /// Of learned upsampling: the gradient kernel of a convolution, forward.
  Feature transposed_conv(const Feature& x, const Conv& conv, std::int64_t out_size);
  void batch_norm(const Feature& x);
  /// Normalises each sample and channel, without weights (CycleGAN).
  void instance_norm(const Feature& x);
  void activation(const Feature& x, Nonlinearity kind);
  /// Convolution, batch norm, nonlinearity.
  Feature conv_norm(const Feature& x, const Conv& conv, Nonlinearity kind = Nonlinearity::relu);
  /// Average or maximum over a window; `ceil`: a part of a window counts.
  Feature pool(const Feature& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad = 0, bool ceil = false);
  Feature global_pool(const Feature& x);
  /// A linear layer on the flattened map.
  Feature dense(const Feature& x, std::int64_t out, bool bias = true);
  /// x += other; gradients pass.
  void add(const Feature& x);
  /// Joins maps of the same size to `channels`.
  Feature concat(const Feature& like, std::int64_t channels);
  /// `uses` layers read x: backward sums what they send back.
  void fork(const Feature& x, std::int64_t uses);
  /// Squeeze and excitation (Hu et al., arXiv 1709.01507): each channel times a gate of two small layers.
  void squeeze_excite(const Feature& x, std::int64_t squeezed);
  /// Softmax over the classes with cross entropy, in training.
  void loss(const Feature& logits);
  /// A pass that reads and writes so many times the map, and so many in backward.
  void pass(std::string_view name, const Feature& x, double read, double back_read);

 private:
  [[nodiscard]] bool folds() const { return b_.options.fused && !b_.training(); }
  [[nodiscard]] std::int64_t count(const Feature& x) const { return b_.options.batch * x.elements(); }
  void bias_of(const Feature& y);
  void own(Steps& steps, std::string_view name, std::int64_t elements);

  GraphBuilder& b_;
  bool shared_ = false;
};

}  // namespace tessera
