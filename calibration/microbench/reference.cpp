#include "calibration/microbench/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace tessera::microbench {

double elementwise(std::string_view op, double a, double b) {
  if (op == "add") return a + b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  if (op == "pow") return std::pow(a, b);
  if (op == "addu") return a + kScalar;
  if (op == "mulu") return a * kScalar;
  if (op == "divu") return a / kScalar;
  if (op == "powu") return std::pow(a, kScalar);
  if (op == "relu") return std::max(a, 0.0);
  if (op == "gelu") return 0.5 * a * (1 + std::erf(a / std::sqrt(2.0)));
  if (op == "silu") return a / (1 + std::exp(-a));
  if (op == "tanh") return std::tanh(a);
  throw std::logic_error("no elementwise operator " + std::string(op));
}

std::vector<double> softmax(std::span<const double> row) {
  const double top = *std::ranges::max_element(row);
  std::vector<double> result(row.begin(), row.end());
  for (double& x : result) x = std::exp(x - top);
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& x : result) x /= sum;
  return result;
}

std::vector<double> layernorm(std::span<const double> row, std::span<const double> gain, std::span<const double> bias) {
  const double size = static_cast<double>(row.size());
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / size;
  double variance = 0;
  for (const double x : row) variance += (x - mean) * (x - mean) / size;
  std::vector<double> result(row.size());
  for (std::size_t i = 0; i < row.size(); ++i)
    result[i] = (row[i] - mean) / std::sqrt(variance + kEpsilon) * gain[i] + bias[i];
  return result;
}

std::vector<double> rmsnorm(std::span<const double> row, std::span<const double> gain) {
  const double square = dot(row, row) / static_cast<double>(row.size());
  std::vector<double> result(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) result[i] = row[i] / std::sqrt(square + kEpsilon) * gain[i];
  return result;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> attention(std::span<const double> query, std::span<const double> keys,
                              std::span<const double> values) {
  const std::size_t size = query.size();
  std::vector<double> scores(keys.size() / size);
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] = dot(query, keys.subspan(i * size, size)) / std::sqrt(static_cast<double>(size));
  const std::vector<double> weights = softmax(scores);
  std::vector<double> result(size);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < size; ++j) result[j] += weights[i] * values[i * size + j];
  return result;
}

double relative_error(std::span<const double> result, std::span<const double> expected) {
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    off += (result[i] - expected[i]) * (result[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return norm > 0 ? std::sqrt(off / norm) : std::sqrt(off);
}

}  // namespace tessera::microbench
