// A small dense network: evaluation in batches, single precision, no third-party type outside.
#pragma once

#include <span>
#include <vector>

namespace tessera {

/// outputs = weights x inputs + bias; `weights` row by row, one row per output.
struct DenseLayer {
  int inputs = 0, outputs = 0;
  std::vector<float> weights, bias;
};

/// GELU (tanh form, Hendrycks & Gimpel, arXiv 1606.08415) between layers, linear at the end.
class Mlp {
 public:
  Mlp() = default;
  explicit Mlp(std::vector<DenseLayer> layers);

  [[nodiscard]] int inputs() const { return layers_.front().inputs; }
  [[nodiscard]] int outputs() const { return layers_.back().outputs; }
  [[nodiscard]] const std::vector<DenseLayer>& layers() const { return layers_; }

  /// Sample after sample in both spans. A sample's answer is the same bit for bit whatever stands beside it.
  void evaluate(std::span<const float> inputs, std::span<float> outputs) const;

 private:
  std::vector<DenseLayer> layers_;
};

}  // namespace tessera
