#include "models/mlp.hpp"

#include <Eigen/Core>
#include <algorithm>

#include "models/mlp_math.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

// Eigen takes other paths for other batch widths; one width keeps a sample's sum in one order.
constexpr int kChunk = 32;

using Chunk = Eigen::Matrix<float, Eigen::Dynamic, kChunk>;

void step(const DenseLayer& layer, bool last, const Chunk& in, Chunk& out) {
  out.resize(layer.outputs, kChunk);
  out.noalias() = weights_of(layer) * in;
  out.colwise() += bias_of(layer);
  if (!last) gelu(out);
}

}  // namespace

Mlp::Mlp(std::vector<DenseLayer> layers) : layers_(std::move(layers)) {
  TESSERA_ASSERT(!layers_.empty(), "a network has at least one layer");
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DenseLayer& layer = layers_[i];
    TESSERA_ASSERT(layer.weights.size() == static_cast<std::size_t>(layer.inputs) * layer.bias.size(),
                   "weights match the layer's width");
    TESSERA_ASSERT(layer.bias.size() == static_cast<std::size_t>(layer.outputs), "one bias per output");
    TESSERA_ASSERT(i == 0 || layer.inputs == layers_[i - 1].outputs, "layers fit together");
  }
}

void Mlp::evaluate(std::span<const float> inputs, std::span<float> outputs) const {
  const auto width = static_cast<std::size_t>(this->inputs());
  const auto depth = static_cast<std::size_t>(this->outputs());
  const std::size_t samples = inputs.size() / width;
  TESSERA_ASSERT(inputs.size() == samples * width && outputs.size() == samples * depth, "one output row per sample");
  Chunk a, b;
  for (std::size_t begin = 0; begin < samples; begin += kChunk) {
    const std::size_t count = std::min<std::size_t>(kChunk, samples - begin);
    a.setZero(this->inputs(), kChunk);
    std::copy_n(inputs.data() + begin * width, count * width, a.data());
    for (const DenseLayer& layer : layers_) {
      step(layer, &layer == &layers_.back(), a, b);
      a.swap(b);
    }
    std::copy_n(a.data(), count * depth, outputs.data() + begin * depth);
  }
}

}  // namespace tessera
