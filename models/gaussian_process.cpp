#include "models/gaussian_process.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

constexpr double kLengths[] = {0.5, 1, 2, 4, 8};  // in standard deviations of a feature, times the root of their number
constexpr double kNoises[] = {1e-6, 1e-3, 1e-2};  // variance, of an output's

using Matrix = Eigen::Map<const Eigen::MatrixXd>;
using Vector = Eigen::Map<const Eigen::VectorXd>;

}  // namespace

GaussianProcess::GaussianProcess(const std::vector<std::vector<double>>& inputs, std::span<const double> outputs) {
  TESSERA_ASSERT(!inputs.empty() && inputs.size() == outputs.size(), "one output for each input");
  const auto scale_of = [](const std::vector<double>& values) {
    Scale scale;
    for (const double v : values) scale.centre += v / static_cast<double>(values.size());
    double square = 0;
    for (const double v : values) square += (v - scale.centre) * (v - scale.centre);
    scale.width = std::sqrt(square / static_cast<double>(values.size()));
    if (scale.width == 0) scale.width = 1;
    return scale;
  };
  for (std::size_t f = 0; f < inputs.front().size(); ++f) {
    std::vector<double> column;
    for (const auto& row : inputs) column.push_back(row[f]);
    input_scales_.push_back(scale_of(column));
  }
  output_scale_ = scale_of({outputs.begin(), outputs.end()});
  for (const auto& row : inputs) inputs_.push_back(standardise(row));
  for (const double y : outputs) outputs_.push_back((y - output_scale_.centre) / output_scale_.width);
  double best = -1e300, best_length = 1, best_noise = kNoises[0];
  for (const double length : kLengths)
    for (const double noise : kNoises)
      if (const double likelihood = factor(length, noise); likelihood > best) {
        best = likelihood;
        best_length = length;
        best_noise = noise;
      }
  factor(best_length, best_noise);
}

std::vector<double> GaussianProcess::standardise(std::span<const double> input) const {
  std::vector<double> result;
  for (std::size_t f = 0; f < input.size(); ++f)
    result.push_back((input[f] - input_scales_[f].centre) / input_scales_[f].width);
  return result;
}

double GaussianProcess::kernel(std::span<const double> a, std::span<const double> b) const {
  double square = 0;
  for (std::size_t f = 0; f < a.size(); ++f) square += (a[f] - b[f]) * (a[f] - b[f]);
  return std::exp(-square / (2 * length_ * length_ * static_cast<double>(a.size())));
}

double GaussianProcess::factor(double length, double noise) {
  length_ = length;
  noise_ = noise;
  const auto n = static_cast<Eigen::Index>(inputs_.size());
  Eigen::MatrixXd covariance(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      covariance(i, j) = covariance(j, i) =
          kernel(inputs_[static_cast<std::size_t>(i)], inputs_[static_cast<std::size_t>(j)]) + (i == j ? noise : 0);
  const Eigen::LLT<Eigen::MatrixXd> factored(covariance);
  if (factored.info() != Eigen::Success) return -1e300;
  const Eigen::MatrixXd lower = factored.matrixL();
  const Vector y(outputs_.data(), n);
  const Eigen::VectorXd weights = factored.solve(y);
  lower_.assign(lower.data(), lower.data() + lower.size());
  weights_.assign(weights.data(), weights.data() + weights.size());
  return -0.5 * y.dot(weights) - lower.diagonal().array().log().sum();
}

GaussianProcess::Prediction GaussianProcess::predict(std::span<const double> input) const {
  const std::vector<double> x = standardise(input);
  const auto n = static_cast<Eigen::Index>(inputs_.size());
  Eigen::VectorXd with(n);
  for (Eigen::Index i = 0; i < n; ++i) with(i) = kernel(x, inputs_[static_cast<std::size_t>(i)]);
  const double mean = with.dot(Vector(weights_.data(), n));
  const Eigen::VectorXd half = Matrix(lower_.data(), n, n).triangularView<Eigen::Lower>().solve(with);
  const double variance = std::max(1 - half.squaredNorm(), 0.0);
  return {output_scale_.centre + output_scale_.width * mean, output_scale_.width * std::sqrt(variance)};
}

double expected_improvement(const GaussianProcess::Prediction& prediction, double best) {
  const double gain = prediction.mean - best;
  if (prediction.deviation <= 0) return std::max(gain, 0.0);
  const double z = gain / prediction.deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return gain * std::erfc(-z / std::numbers::sqrt2) / 2 + prediction.deviation * density;
}

}  // namespace tessera
