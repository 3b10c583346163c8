// What evaluation and training of a network share; internal to models (it includes Eigen).
#pragma once

#include <Eigen/Core>

#include "models/mlp.hpp"

namespace tessera {

using RowMajorMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Map<const RowMajorMatrix> weights_of(const DenseLayer& layer) {
  return {layer.weights.data(), layer.outputs, layer.inputs};
}
inline Eigen::Map<const Eigen::VectorXf> bias_of(const DenseLayer& layer) {
  return {layer.bias.data(), layer.outputs};
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
