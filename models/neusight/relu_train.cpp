// Training of a ReluNet: mini-batches, AdamW at a constant rate, the best epoch kept.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/mlp_math.hpp"
#include "models/neusight/relu_net.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

namespace tessera {

namespace {

using Matrix = Eigen::MatrixXf;
using Index = Eigen::Index;

TrainingLayers zeros_like(const TrainingLayers& layers) {
  TrainingLayers zeros = layers;
  for (TrainingLayer& layer : zeros) {
    layer.weights.setZero();
    layer.bias.setZero();
  }
  return zeros;
}

/// One mini-batch through the net and back.
class Pass {
 public:
  explicit Pass(const ReluTraining& data) : data_(data) {}

  void forward(const TrainingLayers& layers, std::span<const std::uint32_t> samples) {
    const auto columns = static_cast<Index>(samples.size());
    const Index inputs = layers.front().weights.cols();
    activations_.resize(layers.size() + 1);
    activations_[0].resize(inputs, columns);
    for (Index c = 0; c < columns; ++c) {
      const float* x = data_.x.data() + static_cast<Index>(samples[static_cast<std::size_t>(c)]) * inputs;
      activations_[0].col(c) = Eigen::Map<const Eigen::VectorXf>(x, inputs);
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      activations_[i + 1].noalias() = layers[i].weights * activations_[i];
      activations_[i + 1].colwise() += layers[i].bias;
      if (i + 1 < layers.size()) activations_[i + 1] = activations_[i + 1].cwiseMax(0.0F);
    }
  }

  [[nodiscard]] std::span<const float> outputs(std::size_t column) const {
    const Matrix& out = activations_.back();
    return {out.data() + static_cast<Index>(column) * out.rows(), static_cast<std::size_t>(out.rows())};
  }

  /// Sum of the losses; the mean gradient goes to `gradient`.
  double backward(const TrainingLayers& layers, std::span<const std::uint32_t> samples, TrainingLayers& gradient) {
    Matrix error(activations_.back().rows(), activations_.back().cols());
    double total = 0;
    for (std::size_t c = 0; c < samples.size(); ++c) {
      const auto column = static_cast<Index>(c);
      total += data_.loss(samples[c], outputs(c),
                          {error.data() + column * error.rows(), static_cast<std::size_t>(error.rows())});
    }
    error /= static_cast<float>(samples.size());
    for (std::size_t i = layers.size(); i-- > 0;) {
      gradient[i].weights.noalias() = error * activations_[i].transpose();
      gradient[i].bias = error.rowwise().sum();
      if (i == 0) break;
      const Matrix upstream = layers[i].weights.transpose() * error;
      error = (activations_[i].array() > 0.0F).select(upstream, 0.0F);
    }
    return total;
  }

 private:
  const ReluTraining& data_;
  std::vector<Matrix> activations_;  // inputs, then what each layer hands on
};

/// AdamW (Loshchilov & Hutter, arXiv 1711.05101) over every parameter.
class AdamW {
 public:
  AdamW(const TrainingLayers& layers, const ReluOptions& options)
      : mean_(zeros_like(layers)), square_(zeros_like(layers)), options_(options) {}

  void step(TrainingLayers& layers, const TrainingLayers& gradient) {
    ++steps_;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      update(layers[i].weights, gradient[i].weights, mean_[i].weights, square_[i].weights);
      update(layers[i].bias, gradient[i].bias, mean_[i].bias, square_[i].bias);
    }
  }

 private:
  template <class Block>
  void update(Block& value, const Block& gradient, Block& mean, Block& square) const {
    constexpr float kBeta1 = 0.9F, kBeta2 = 0.999F, kEpsilon = 1e-8F;
    const auto correct = [&](double beta) { return static_cast<float>(1 / (1 - std::pow(beta, steps_))); };
    const float first = correct(kBeta1), second = correct(kBeta2);
    const auto rate = static_cast<float>(options_.rate);
    const auto keep = static_cast<float>(1 - options_.rate * options_.weight_decay);
    const auto g = gradient.array();
    mean.array() = kBeta1 * mean.array() + (1 - kBeta1) * g;
    square.array() = kBeta2 * square.array() + (1 - kBeta2) * g.square();
    value.array() =
        keep * value.array() - rate * (mean.array() * first) / ((square.array() * second).sqrt() + kEpsilon);
  }

  TrainingLayers mean_, square_;
  const ReluOptions& options_;
  int steps_ = 0;
};

void shuffle(std::span<std::uint32_t> order, Rng& rng) {
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[rng.below(static_cast<std::uint32_t>(i))]);
  }
}

using Samples = std::span<const std::uint32_t>;

Samples part(Samples all, std::size_t first, std::size_t width) {
  return all.subspan(first, std::min(width, all.size() - first));
}

double mean_error(Pass& pass, const TrainingLayers& layers, const ReluTraining& data, Samples samples) {
  constexpr std::size_t kValidationBatch = 4096;
  double total = 0;
  for (std::size_t first = 0; first < samples.size(); first += kValidationBatch) {
    const Samples some = part(samples, first, kValidationBatch);
    pass.forward(layers, some);
    for (std::size_t i = 0; i < some.size(); ++i) total += data.error(some[i], pass.outputs(i));
  }
  return total / static_cast<double>(samples.size());
}

}  // namespace

ReluNet train_relu(ReluNet start, const ReluTraining& data, const ReluOptions& options, const EpochWatch& watch) {
  const auto held = static_cast<std::size_t>(options.validation_share * static_cast<double>(data.samples));
  TESSERA_ASSERT(held > 0 && held < data.samples, "training needs rows to learn from and rows to hold back");
  TESSERA_ASSERT(data.x.size() == data.samples * static_cast<std::size_t>(start.inputs()), "one row per sample");
  Rng rng(options.seed);
  std::vector<std::uint32_t> order(data.samples);
  std::iota(order.begin(), order.end(), 0U);
  shuffle(order, rng);
  const Samples validation = Samples(order).first(held);
  const std::span<std::uint32_t> training = std::span(order).subspan(held);

  TrainingLayers layers = training_layers(start.layers()), gradient = zeros_like(layers);
  AdamW optimiser(layers, options);
  Pass pass(data);
  ReluNet best = std::move(start);
  double best_error = std::numeric_limits<double>::infinity();
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    shuffle(training, rng);
    double loss = 0;
    for (std::size_t first = 0; first < training.size(); first += static_cast<std::size_t>(options.batch)) {
      const Samples some = part(training, first, static_cast<std::size_t>(options.batch));
      pass.forward(layers, some);
      loss += pass.backward(layers, some, gradient);
      optimiser.step(layers, gradient);
    }
    const double error = mean_error(pass, layers, data, validation);
    const bool better = error < best_error;
    if (better) {
      best_error = error;
      best = ReluNet(dense_layers(layers));
    }
    if (watch) watch({epoch, loss / static_cast<double>(training.size()), error, better}, best);
  }
  return best;
}

double relu_gradient(const ReluNet& net, const ReluTraining& data, std::vector<DenseLayer>& gradient) {
  std::vector<std::uint32_t> all(data.samples);
  std::iota(all.begin(), all.end(), 0U);
  const TrainingLayers layers = training_layers(net.layers());
  TrainingLayers slopes = zeros_like(layers);
  Pass pass(data);
  pass.forward(layers, all);
  const double loss = pass.backward(layers, all, slopes);
  gradient = dense_layers(slopes);
  return loss / static_cast<double>(data.samples);
}

}  // namespace tessera
