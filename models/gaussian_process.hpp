// A Gaussian process: a smooth guess with its uncertainty from few, dear evaluations.
#pragma once

#include <span>
#include <vector>

namespace tessera {

/// Squared-exponential kernel on standardised features, one length for all of them, chosen with the noise by marginal
/// likelihood on a grid (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapters 2 and 5).
/// Not modelled: a length per feature, outputs that are not near normal. O(n^3) to make, O(n^2) a prediction.
class GaussianProcess {
 public:
  /// Rows of equal width, one output each; at least one.
  GaussianProcess(const std::vector<std::vector<double>>& inputs, std::span<const double> outputs);

  struct Prediction {
    double mean = 0, deviation = 0;
  };
  [[nodiscard]] Prediction predict(std::span<const double> input) const;

 private:
  struct Scale {
    double centre = 0, width = 1;
  };
  [[nodiscard]] double kernel(std::span<const double> a, std::span<const double> b) const;
  [[nodiscard]] std::vector<double> standardise(std::span<const double> input) const;
  /// Factors the covariance; returns the log marginal likelihood.
  double factor(double length, double noise);

  std::vector<Scale> input_scales_;
  Scale output_scale_;
  std::vector<std::vector<double>> inputs_;  // standardised
  std::vector<double> outputs_;
  double length_ = 1, noise_ = 0;
  std::vector<double> lower_, weights_;  // Cholesky factor by columns, covariance^-1 outputs
};

/// How much better than `best` the output is expected to be; 0 at points known exactly.
double expected_improvement(const GaussianProcess::Prediction& prediction, double best);

}  // namespace tessera
