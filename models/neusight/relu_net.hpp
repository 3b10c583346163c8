// The network of NeuSight and Habitat: dense layers with ReLU between, and its training by a loss of one's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "models/mlp.hpp"

namespace tessera {

class ReluNet {
 public:
  ReluNet() = default;
  /// `widths`: inputs, hidden layers..., outputs. Weights and biases uniform within 1 / sqrt(inputs of the layer).
  ReluNet(const std::vector<int>& widths, std::uint64_t seed);
  explicit ReluNet(std::vector<DenseLayer> layers);

  [[nodiscard]] int inputs() const { return layers_.front().inputs; }
  [[nodiscard]] int outputs() const { return layers_.back().outputs; }
  [[nodiscard]] const std::vector<DenseLayer>& layers() const { return layers_; }
  /// Sample after sample in both spans.
  void evaluate(std::span<const float> inputs, std::span<float> outputs) const;

 private:
  std::vector<DenseLayer> layers_;
};

/// Eight linear layers of 512: what the paper and its Habitat baseline use.
std::vector<int> paper_widths(int inputs, int outputs);

/// Loss of a sample given the net's outputs; fills `slope` with its derivative by each output.
using SampleLoss = std::function<double(std::size_t sample, std::span<const float> outputs, std::span<float> slope)>;
/// Relative error of a sample, for choosing the epoch.
using SampleError = std::function<double(std::size_t sample, std::span<const float> outputs)>;

struct ReluTraining {
  std::vector<float> x;  // sample after sample
  std::size_t samples = 0;
  SampleLoss loss;
  SampleError error;
};

struct ReluOptions {
  int epochs = 100, batch = 128;
  double rate = 1e-3;
  double weight_decay = 0.01;     // AdamW's usual
  double validation_share = 0.2;  // random rows
  std::uint64_t seed = 0;
};

/// What an epoch left: mean loss in training, mean error in validation, and whether it is the best so far.
struct EpochReport {
  int epoch = 0;
  double loss = 0, error = 0;
  bool best = false;
};
using EpochWatch = std::function<void(const EpochReport& report, const ReluNet& net)>;

/// AdamW at a constant rate; the net of the epoch with the smallest validation error. Same input, same bits.
ReluNet train_relu(ReluNet start, const ReluTraining& data, const ReluOptions& options, const EpochWatch& watch = {});

/// Mean loss over all samples and its gradient, layer by layer; for tests.
double relu_gradient(const ReluNet& net, const ReluTraining& data, std::vector<DenseLayer>& gradient);

/// Layer sizes, then weights and biases as they lie in memory (little-endian floats).
void write_net(const std::filesystem::path& path, const ReluNet& net);
/// RunError where the file is no such net.
ReluNet read_net(const std::filesystem::path& path);

}  // namespace tessera
