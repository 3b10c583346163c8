// What evaluation and training of a network share; internal to models (it includes Eigen).
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "models/mlp.hpp"

namespace tessera {

using RowMajorMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Map<const RowMajorMatrix> weights_of(const DenseLayer& layer) {
  return {layer.weights.data(), layer.outputs, layer.inputs};
}
inline Eigen::Map<const Eigen::VectorXf> bias_of(const DenseLayer& layer) {
  return {layer.bias.data(), layer.outputs};
}

/// A layer in training: parameters, their gradient or a moment, in memory that Eigen aligns. Its square root of a
/// packet and of a scalar differ in the last bit, so where packets start must not depend on the allocator.
struct TrainingLayer {
  RowMajorMatrix weights;
  Eigen::VectorXf bias;
};
using TrainingLayers = std::vector<TrainingLayer>;

inline TrainingLayers training_layers(std::span<const DenseLayer> dense) {
  TrainingLayers layers;
  for (const DenseLayer& layer : dense) layers.push_back({weights_of(layer), bias_of(layer)});
  return layers;
}

inline std::vector<DenseLayer> dense_layers(const TrainingLayers& layers) {
  std::vector<DenseLayer> dense;
  for (const auto& [w, b] : layers) {
    dense.push_back({static_cast<int>(w.cols()),
                     static_cast<int>(w.rows()),
                     {w.data(), w.data() + w.size()},
                     {b.data(), b.data() + b.size()}});
  }
  return dense;
}

inline constexpr float kGeluScale = 0.7978845608F;  // sqrt(2 / pi)
inline constexpr float kGeluCubic = 0.044715F;

template <class Matrix>
void gelu(Matrix& x) {
  auto a = x.array();
  a = 0.5F * a * (1.0F + (kGeluScale * (a + kGeluCubic * a.cube())).tanh());
}

/// d gelu / dx at `x`.
template <class Matrix>
Eigen::MatrixXf gelu_slope(const Matrix& x) {
  const auto a = x.array();
  const Eigen::ArrayXXf t = (kGeluScale * (a + kGeluCubic * a.cube())).tanh();
  return (0.5F * (1.0F + t) + 0.5F * a * (1.0F - t.square()) * kGeluScale * (1.0F + 3.0F * kGeluCubic * a.square()))
      .matrix();
}

}  // namespace tessera
