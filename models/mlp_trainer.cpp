#include "models/mlp_trainer.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "models/log_time.hpp"
#include "models/mlp_math.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

namespace tessera {

namespace {

using Matrix = Eigen::MatrixXf;
using Index = Eigen::Index;

struct LossPoint {
  double value = 0, slope = 0;  // of error = predicted - measured, on the log
};

LossPoint loss_at(double error, const TrainOptions& options) {
  switch (options.loss) {
    case Loss::l1:
      return {std::abs(error), error < 0 ? -1.0 : 1.0};
    case Loss::huber: {
      const double w = options.huber_width;
      if (std::abs(error) < w) return {error * error / (2 * w), error / w};
      return {std::abs(error) - w / 2, error < 0 ? -1.0 : 1.0};
    }
    case Loss::pinball:
      return error < 0 ? LossPoint{-options.quantile * error, -options.quantile}
                       : LossPoint{(1 - options.quantile) * error, 1 - options.quantile};
  }
  return {};
}

Index session_count(const TrainingSet& data) {
  return data.session.empty() ? 1 : Index{*std::max_element(data.session.begin(), data.session.end())} + 1;
}

/// One mini-batch: the samples by number, their activations, and the gradient they leave. Number size() + i is sample i
/// without its optional inputs.
class Batch {
 public:
  Batch(const TrainingSet& data, const TrainOptions& options)
      : data_(data), options_(options), offset_slope_(Eigen::VectorXf::Zero(session_count(data))) {}

  /// Mean loss of the samples; the mean gradient goes to `gradient`, that of the offsets to offset_slope().
  double run(const TrainingLayers& layers, const Eigen::VectorXf& offsets, std::span<const std::uint32_t> samples,
             TrainingLayers& gradient) {
    forward(layers, samples);
    const double loss = output_error(samples, offsets);
    backward(layers, gradient);
    return loss;
  }
  [[nodiscard]] const Eigen::VectorXf& offset_slope() const { return offset_slope_; }

 private:
  void forward(const TrainingLayers& layers, std::span<const std::uint32_t> samples) {
    const auto columns = static_cast<Index>(samples.size());
    activations_.resize(layers.size() + 1);
    sums_.resize(layers.size());
    activations_[0].resize(data_.inputs, columns);
    for (Index c = 0; c < columns; ++c) {
      const std::size_t s = samples[static_cast<std::size_t>(c)];
      const float* x = data_.x.data() + (s % data_.size()) * static_cast<std::size_t>(data_.inputs);
      activations_[0].col(c) = Eigen::Map<const Eigen::VectorXf>(x, data_.inputs);
      if (s >= data_.size()) activations_[0].col(c).tail(data_.optional_inputs).setZero();
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      sums_[i].noalias() = layers[i].weights * activations_[i];
      sums_[i].colwise() += layers[i].bias;
      activations_[i + 1] = sums_[i];
      if (i + 1 < layers.size()) gelu(activations_[i + 1]);
    }
  }

  double output_error(std::span<const std::uint32_t> samples, const Eigen::VectorXf& offsets) {
    error_.resize(1, static_cast<Index>(samples.size()));
    offset_slope_.setZero();
    double total = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::size_t s = samples[i] % data_.size();
      const double net = activations_.back()(0, static_cast<Index>(i));
      const Index session = data_.session.empty() ? 0 : Index{data_.session[s]};
      const double body = data_.log_base[s] + offsets[session] + bounded(net);
      const double predicted = log_add(body, data_.log_floor[s]);
      const LossPoint loss = loss_at(predicted - data_.log_target[s], options_);
      const double weight = data_.weight.empty() ? 1.0 : data_.weight[s];
      const double ratio = bounded(net) / kMaxCorrection;
      const double slope = weight * loss.slope * std::exp(body - predicted) / static_cast<double>(samples.size());
      total += weight * loss.value;
      error_(0, static_cast<Index>(i)) = static_cast<float>(slope * (1 - ratio * ratio));
      offset_slope_[session] += static_cast<float>(slope);
    }
    return total / static_cast<double>(samples.size());
  }

  void backward(const TrainingLayers& layers, TrainingLayers& gradient) {
    for (std::size_t i = layers.size(); i-- > 0;) {
      gradient[i].weights.noalias() = error_ * activations_[i].transpose();
      gradient[i].bias = error_.rowwise().sum();
      if (i == 0) break;
      const Matrix upstream = layers[i].weights.transpose() * error_;
      error_ = upstream.cwiseProduct(gelu_slope(sums_[i - 1]));
    }
  }

  const TrainingSet& data_;
  const TrainOptions& options_;
  Eigen::VectorXf offset_slope_;
  std::vector<Matrix> activations_, sums_;
  Matrix error_;
};

/// He's normal start, but the last layer zero.
TrainingLayers initial_layers(int inputs, const std::vector<int>& hidden, Rng& rng) {
  TrainingLayers layers;
  for (int width : hidden) {
    TrainingLayer layer{RowMajorMatrix(width, inputs), Eigen::VectorXf::Zero(width)};
    const double scale = std::sqrt(2.0 / inputs);
    for (Index i = 0; i < layer.weights.size(); ++i) layer.weights.data()[i] = static_cast<float>(scale * rng.normal());
    layers.push_back(std::move(layer));
    inputs = width;
  }
  layers.push_back({RowMajorMatrix::Zero(1, inputs), Eigen::VectorXf::Zero(1)});
  return layers;
}

double one_cycle(double progress, double peak) {
  constexpr double kWarmUp = 0.3, kStart = 1.0 / 25, kEnd = 1e-4;
  const auto blend = [](double from, double to, double x) {
    return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * x));
  };
  if (progress < kWarmUp) return peak * blend(kStart, 1, progress / kWarmUp);
  return peak * blend(1, kEnd, (progress - kWarmUp) / (1 - kWarmUp));
}

using Block = Eigen::Map<Eigen::ArrayXf, Eigen::AlignedMax>;
using ConstBlock = Eigen::Map<const Eigen::ArrayXf, Eigen::AlignedMax>;

/// The optimiser's memory of one block of parameters.
class AdamW {
 public:
  AdamW(Index parameters, double decay)
      : mean_(Eigen::ArrayXf::Zero(parameters)), square_(Eigen::ArrayXf::Zero(parameters)), decay_(decay) {}

  template <class Matrix>
  void step(Matrix& value, const Matrix& gradient, double rate) {
    ++steps_;
    constexpr float kBeta1 = 0.9F, kBeta2 = 0.999F, kEpsilon = 1e-8F;
    const ConstBlock g(gradient.data(), gradient.size());
    Block w(value.data(), value.size());
    mean_ = kBeta1 * mean_ + (1 - kBeta1) * g;
    square_ = kBeta2 * square_ + (1 - kBeta2) * g.square();
    const auto correction1 = static_cast<float>(1 / (1 - std::pow(double{kBeta1}, steps_)));
    const auto correction2 = static_cast<float>(1 / (1 - std::pow(double{kBeta2}, steps_)));
    w = w * static_cast<float>(1 - rate * decay_) -
        static_cast<float>(rate) * (mean_ * correction1) / ((square_ * correction2).sqrt() + kEpsilon);
  }

 private:
  Eigen::ArrayXf mean_, square_;
  double decay_;
  int steps_ = 0;
};

/// Steps all layers and the offsets.
class Optimiser {
 public:
  Optimiser(const TrainingLayers& layers, Index sessions, double decay) : offsets_(sessions, 0) {
    for (const TrainingLayer& layer : layers) {
      weights_.emplace_back(layer.weights.size(), decay);
      biases_.emplace_back(layer.bias.size(), 0);
    }
  }

  void step(TrainingLayers& layers, const TrainingLayers& gradient, double rate) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      weights_[i].step(layers[i].weights, gradient[i].weights, rate);
      biases_[i].step(layers[i].bias, gradient[i].bias, rate);
    }
  }

  void step(Eigen::VectorXf& offsets, const Eigen::VectorXf& slope, double rate) {
    offsets_.step(offsets, slope, rate);
  }

 private:
  std::vector<AdamW> weights_, biases_;
  AdamW offsets_;
};

void shuffle(std::vector<std::uint32_t>& order, Rng& rng) {
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[rng.below(static_cast<std::uint32_t>(i))]);
  }
}

/// The same samples, half of them by lot without their optional inputs.
void hide_optional(std::vector<std::uint32_t>& order, Rng& rng) {
  const auto samples = static_cast<std::uint32_t>(order.size());
  for (std::uint32_t& s : order) s = s % samples + samples * rng.below(2);
}

float median(const Eigen::VectorXf& numbers) {
  std::vector<float> values(numbers.data(), numbers.data() + numbers.size());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void check(const TrainingSet& data) {
  TESSERA_ASSERT(data.size() > 0, "training needs samples");
  TESSERA_ASSERT(data.x.size() == data.size() * static_cast<std::size_t>(data.inputs), "one row of inputs per sample");
  TESSERA_ASSERT(data.log_base.size() == data.size() && data.log_floor.size() == data.size(), "one base per sample");
  TESSERA_ASSERT(data.session.empty() || data.session.size() == data.size(), "one session per sample");
  TESSERA_ASSERT(data.weight.empty() || data.weight.size() == data.size(), "one weight per sample");
}

}  // namespace

Mlp train(const TrainingSet& data, const TrainOptions& options, const EpochCallback& watch) {
  check(data);
  Rng rng(options.seed);
  TrainingLayers layers = initial_layers(data.inputs, options.hidden, rng);
  TrainingLayers gradient = layers;
  Eigen::VectorXf offsets = Eigen::VectorXf::Zero(session_count(data));
  Optimiser optimiser(layers, offsets.size(), options.weight_decay);
  Batch batch(data, options);
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto width = static_cast<std::size_t>(options.batch);
  const std::size_t batches = (data.size() + width - 1) / width;
  const double steps = static_cast<double>(batches) * options.epochs;
  double done = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    shuffle(order, rng);
    if (data.optional_inputs > 0) hide_optional(order, rng);
    double total = 0;
    for (std::size_t b = 0; b < batches; ++b) {
      const std::span<const std::uint32_t> samples(order.data() + b * width, std::min(width, data.size() - b * width));
      total += batch.run(layers, offsets, samples, gradient) * static_cast<double>(samples.size());
      const double rate = one_cycle(done / steps, options.rate);
      optimiser.step(layers, gradient, rate);
      if (offsets.size() > 1) optimiser.step(offsets, batch.offset_slope(), rate);
      ++done;
    }
    if (watch) watch(epoch, total / static_cast<double>(data.size()));
  }
  layers.back().bias[0] += median(offsets);
  return Mlp(dense_layers(layers));
}

std::vector<Mlp> train_ensemble(const TrainingSet& data, const TrainOptions& options, int members) {
  std::vector<Mlp> nets;
  for (int i = 0; i < members; ++i) {
    TrainOptions own = options;
    own.seed += static_cast<std::uint64_t>(i);
    nets.push_back(train(data, own));
  }
  return nets;
}

double loss_and_gradient(const Mlp& net, const TrainingSet& data, const TrainOptions& options,
                         std::vector<DenseLayer>& gradient) {
  check(data);
  std::vector<std::uint32_t> all(data.size());
  std::iota(all.begin(), all.end(), 0U);
  TrainingLayers slopes = training_layers(net.layers());
  const Eigen::VectorXf no_offsets = Eigen::VectorXf::Zero(session_count(data));
  const double loss = Batch(data, options).run(training_layers(net.layers()), no_offsets, all, slopes);
  gradient = dense_layers(slopes);
  return loss;
}

}  // namespace tessera
