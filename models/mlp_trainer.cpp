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

Eigen::Map<RowMajorMatrix> weights_of(DenseLayer& layer) {
  return {layer.weights.data(), layer.outputs, layer.inputs};
}
Eigen::Map<Eigen::VectorXf> bias_of(DenseLayer& layer) {
  return {layer.bias.data(), layer.outputs};
}

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

std::size_t session_count(const TrainingSet& data) {
  return data.session.empty() ? 1 : std::size_t{*std::max_element(data.session.begin(), data.session.end())} + 1;
}

/// One mini-batch: the samples by number, their activations, and the gradient they leave.
class Batch {
 public:
  Batch(const TrainingSet& data, const TrainOptions& options)
      : data_(data), options_(options), offset_slope_(session_count(data)) {}

  /// Mean loss of the samples; the mean gradient goes to `gradient`, that of the offsets to offset_slope().
  double run(const std::vector<DenseLayer>& layers, const std::vector<float>& offsets,
             std::span<const std::uint32_t> samples, std::vector<DenseLayer>& gradient) {
    forward(layers, samples);
    const double loss = output_error(samples, offsets);
    backward(layers, gradient);
    return loss;
  }
  [[nodiscard]] const std::vector<float>& offset_slope() const { return offset_slope_; }

 private:
  void forward(const std::vector<DenseLayer>& layers, std::span<const std::uint32_t> samples) {
    const auto columns = static_cast<Index>(samples.size());
    activations_.resize(layers.size() + 1);
    sums_.resize(layers.size());
    activations_[0].resize(data_.inputs, columns);
    for (Index c = 0; c < columns; ++c) {
      const float* x = data_.x.data() + std::size_t{samples[static_cast<std::size_t>(c)]} * activations_[0].rows();
      activations_[0].col(c) = Eigen::Map<const Eigen::VectorXf>(x, data_.inputs);
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      sums_[i].noalias() = tessera::weights_of(layers[i]) * activations_[i];
      sums_[i].colwise() += tessera::bias_of(layers[i]);
      activations_[i + 1] = sums_[i];
      if (i + 1 < layers.size()) gelu(activations_[i + 1]);
    }
  }

  double output_error(std::span<const std::uint32_t> samples, const std::vector<float>& offsets) {
    error_.resize(1, static_cast<Index>(samples.size()));
    std::fill(offset_slope_.begin(), offset_slope_.end(), 0.0F);
    double total = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::size_t s = samples[i];
      const double net = activations_.back()(0, static_cast<Index>(i));
      const std::size_t session = data_.session.empty() ? 0 : data_.session[s];
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

  void backward(const std::vector<DenseLayer>& layers, std::vector<DenseLayer>& gradient) {
    for (std::size_t i = layers.size(); i-- > 0;) {
      weights_of(gradient[i]).noalias() = error_ * activations_[i].transpose();
      bias_of(gradient[i]) = error_.rowwise().sum();
      if (i == 0) break;
      const Matrix upstream = tessera::weights_of(layers[i]).transpose() * error_;
      error_ = upstream.cwiseProduct(gelu_slope(sums_[i - 1]));
    }
  }

  const TrainingSet& data_;
  const TrainOptions& options_;
  std::vector<float> offset_slope_;
  std::vector<Matrix> activations_, sums_;
  Matrix error_;
};

std::vector<DenseLayer> blank_layers(int inputs, const std::vector<int>& hidden) {
  std::vector<DenseLayer> layers;
  const auto add = [&layers](int in, int out) {
    layers.push_back({in, out, std::vector<float>(static_cast<std::size_t>(in) * static_cast<std::size_t>(out)),
                      std::vector<float>(static_cast<std::size_t>(out))});
  };
  for (int width : hidden) {
    add(inputs, width);
    inputs = width;
  }
  add(inputs, 1);
  return layers;
}

/// He's normal start, but the last layer zero.
void initialise(std::vector<DenseLayer>& layers, Rng& rng) {
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    const double scale = std::sqrt(2.0 / layers[i].inputs);
    for (float& w : layers[i].weights) w = static_cast<float>(scale * rng.normal());
  }
}

double one_cycle(double progress, double peak) {
  constexpr double kWarmUp = 0.3, kStart = 1.0 / 25, kEnd = 1e-4;
  const auto blend = [](double from, double to, double x) {
    return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * x));
  };
  if (progress < kWarmUp) return peak * blend(kStart, 1, progress / kWarmUp);
  return peak * blend(1, kEnd, (progress - kWarmUp) / (1 - kWarmUp));
}

/// The optimiser's memory of one block of parameters.
class AdamW {
 public:
  AdamW(std::size_t parameters, double decay) : mean_(parameters), square_(parameters), decay_(decay) {}

  void step(std::vector<float>& value, const std::vector<float>& gradient, double rate) {
    ++steps_;
    constexpr float kBeta1 = 0.9F, kBeta2 = 0.999F, kEpsilon = 1e-8F;
    const auto map = [](auto& v) { return Eigen::Map<Eigen::ArrayXf>(v.data(), static_cast<Index>(v.size())); };
    const Eigen::Map<const Eigen::ArrayXf> g(gradient.data(), static_cast<Index>(gradient.size()));
    auto m = map(mean_), s = map(square_), w = map(value);
    m = kBeta1 * m + (1 - kBeta1) * g;
    s = kBeta2 * s + (1 - kBeta2) * g.square();
    const auto correction1 = static_cast<float>(1 / (1 - std::pow(double{kBeta1}, steps_)));
    const auto correction2 = static_cast<float>(1 / (1 - std::pow(double{kBeta2}, steps_)));
    w = w * static_cast<float>(1 - rate * decay_) -
        static_cast<float>(rate) * (m * correction1) / ((s * correction2).sqrt() + kEpsilon);
  }

  std::vector<float> mean_, square_;
  double decay_;
  int steps_ = 0;
};

/// Steps all layers and the offsets.
class Optimiser {
 public:
  Optimiser(const std::vector<DenseLayer>& layers, std::size_t sessions, double decay) : offsets_(sessions, 0) {
    for (const DenseLayer& layer : layers) {
      weights_.emplace_back(layer.weights.size(), decay);
      biases_.emplace_back(layer.bias.size(), 0);
    }
  }

  void step(std::vector<DenseLayer>& layers, const std::vector<DenseLayer>& gradient, double rate) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      weights_[i].step(layers[i].weights, gradient[i].weights, rate);
      biases_[i].step(layers[i].bias, gradient[i].bias, rate);
    }
  }

  void step(std::vector<float>& offsets, const std::vector<float>& slope, double rate) {
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

float median(std::vector<float> values) {
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
  std::vector<DenseLayer> layers = blank_layers(data.inputs, options.hidden);
  initialise(layers, rng);
  std::vector<DenseLayer> gradient = layers;
  std::vector<float> offsets(session_count(data));
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
  return Mlp(std::move(layers));
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
  gradient = net.layers();
  return Batch(data, options).run(net.layers(), std::vector<float>(session_count(data)), all, gradient);
}

}  // namespace tessera
