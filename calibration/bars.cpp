#include "calibration/bars.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr int kNewtonSteps = 12;
constexpr double kRidge = 1e-3;       // keeps the coefficients that no row determines at 0
constexpr double kLeastError = 1e-3;  // a row that is right by chance does not shrink the scale to nothing

/// 1 / (GPUs x rows of the GPU), per residue.
std::vector<double> weights_of(std::span<const Residue> residues) {
  std::map<std::uint16_t, double> rows;
  for (const Residue& r : residues) ++rows[r.gpu];
  std::vector<double> weights;
  weights.reserve(residues.size());
  for (const Residue& r : residues) weights.push_back(1 / (static_cast<double>(rows.size()) * rows[r.gpu]));
  return weights;
}

Eigen::Vector4d terms_of(const Residue& residue) {
  const std::array<double, 4> terms = bar_terms(residue.inputs);
  return {terms[0], terms[1], terms[2], terms[3]};
}

/// Newton's method on sum w (c.z + |error| exp(-c.z)), which is convex in c.
std::array<double, 4> fit_scale(std::span<const Residue> residues, const std::vector<double>& weights) {
  double mean = 0;
  for (std::size_t i = 0; i < residues.size(); ++i) mean += weights[i] * std::abs(residues[i].error);
  Eigen::Vector4d c(std::log(std::max(mean, kLeastError)), 0, 0, 0);
  const Eigen::Vector4d ridge(0, kRidge, kRidge, kRidge);
  for (int step = 0; step < kNewtonSteps; ++step) {
    Eigen::Vector4d slope = ridge.cwiseProduct(c);
    Eigen::Matrix4d curve = ridge.asDiagonal();
    for (std::size_t i = 0; i < residues.size(); ++i) {
      const Eigen::Vector4d z = terms_of(residues[i]);
      const double ratio = std::max(std::abs(residues[i].error), kLeastError) * std::exp(-c.dot(z));
      slope += weights[i] * (1 - ratio) * z;
      curve += weights[i] * ratio * z * z.transpose();
    }
    const Eigen::Vector4d move = curve.ldlt().solve(slope);
    c -= move * std::min(1.0, 1 / std::max(move.cwiseAbs().maxCoeff(), 1e-12));
  }
  return {c[0], c[1], c[2], c[3]};
}

double weighted_quantile(std::vector<std::pair<double, double>> values, double q) {
  std::ranges::sort(values);
  double below = 0;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= q) return value;
  }
  return values.back().first;
}

void split_variance(std::span<const Residue> residues, Bar& bar) {
  struct Sums {
    double rows = 0, sum = 0, squares = 0;
  };
  std::map<std::uint16_t, Sums> gpus;
  for (const Residue& r : residues) {
    Sums& own = gpus[r.gpu];
    ++own.rows;
    own.sum += r.error;
    own.squares += r.error * r.error;
  }
  double shared = 0, own = 0;
  for (const auto& [gpu, s] : gpus) {
    const double mean = s.sum / s.rows;
    shared += mean * mean / static_cast<double>(gpus.size());
    own += std::max(s.squares / s.rows - mean * mean, 0.0) / static_cast<double>(gpus.size());
  }
  bar.shared = std::sqrt(shared);
  bar.own = std::sqrt(own);
}

}  // namespace

Bar fit_bar(std::span<const Residue> residues) {
  TESSERA_ASSERT(!residues.empty(), "an error bar needs errors");
  const std::vector<double> weights = weights_of(residues);
  Bar bar;
  bar.log_scale = fit_scale(residues, weights);
  std::vector<std::pair<double, double>> scaled;
  scaled.reserve(residues.size());
  for (std::size_t i = 0; i < residues.size(); ++i) {
    scaled.emplace_back(residues[i].error / bar_scale(bar, residues[i].inputs), weights[i]);
  }
  bar.p10 = weighted_quantile(scaled, 0.1);
  bar.p90 = weighted_quantile(scaled, 0.9);
  split_variance(residues, bar);
  return bar;
}

}  // namespace tessera
