#include "calibration/microbench/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace tessera::microbench {
namespace {

std::size_t product(int a, int b, int c, int d) {
  return std::size_t{1} * static_cast<unsigned>(a) * static_cast<unsigned>(b) * static_cast<unsigned>(c) *
         static_cast<unsigned>(d);
}

/// Index into a tensor of square images with channels last, and back.
struct Place {
  int image, y, x, channel;
  [[nodiscard]] std::size_t index(int side, int channels) const {
    const auto size = [](int value) { return static_cast<std::size_t>(value); };
    return ((size(image) * size(side) + size(y)) * size(side) + size(x)) * size(channels) + size(channel);
  }
  static Place of(std::size_t index, int side, int channels) {
    const auto split = [&](int size) {
      const auto part = static_cast<int>(index % static_cast<std::size_t>(size));
      index /= static_cast<std::size_t>(size);
      return part;
    };
    Place place{};
    place.channel = split(channels);
    place.x = split(side);
    place.y = split(side);
    place.image = static_cast<int>(index);
    return place;
  }
};

/// Calls `visit(output row, input row)` for each pair along one axis that tap `k` of the kernel connects.
template <class Visit>
void connect(const ConvSizes& s, int k, Visit visit) {
  for (int o = 0; o < s.out(); ++o) {
    const int i = o * s.stride - s.pad + k;
    if (i >= 0 && i < s.hw) visit(o, i);
  }
}

double weight_gradient(const ConvSizes& s, const ConvTensors& t, const Place& w) {
  double sum = 0;
  for (int n = 0; n < s.batch; ++n) {
    connect(s, w.y, [&](int oy, int iy) {
      connect(s, w.x, [&](int ox, int ix) {
        sum += t.input[Place{n, iy, ix, w.channel}.index(s.hw, s.c_in)] *
               t.output[Place{n, oy, ox, w.image}.index(s.out(), s.c_out)];
      });
    });
  }
  return sum;
}

/// Output at `p` from the input, or input gradient at `p` from the output's.
double through_weights(const ConvSizes& s, const ConvTensors& t, const Place& p, bool forward) {
  const std::span<const double> from = forward ? t.input : t.output;
  const int side = forward ? s.hw : s.out(), channels = forward ? s.c_in : s.c_out;
  double sum = 0;
  const auto add = [&](int y, int x, int ky, int kx) {
    for (int other = 0; other < channels; ++other) {
      const Place weight{forward ? p.channel : other, ky, kx, forward ? other : p.channel};
      sum += from[Place{p.image, y, x, other}.index(side, channels)] * t.weights[weight.index(s.ksize, s.c_in)];
    }
  };
  for (int ky = 0; ky < s.ksize; ++ky) {
    connect(s, ky, [&](int oy, int iy) {
      if ((forward ? oy : iy) != p.y) return;
      for (int kx = 0; kx < s.ksize; ++kx) {
        connect(s, kx, [&](int ox, int ix) {
          if ((forward ? ox : ix) == p.x) add(forward ? iy : oy, forward ? ix : ox, ky, kx);
        });
      }
    });
  }
  return sum;
}

double size_of(std::span<const double> row) {
  return static_cast<double>(row.size());
}

/// With x the normed row and g = gradient gain: (g - x mean(g x)) / deviation, where the norm centres less mean(g).
std::vector<double> norm_backward(std::span<const double> row, std::span<const double> gain,
                                  std::span<const double> gradient, double mean, bool centred) {
  double square = 0;
  for (const double v : row) square += (v - mean) * (v - mean) / size_of(row);
  const double scale = 1 / std::sqrt(square + kEpsilon);
  double along = 0, level = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    along += gradient[i] * gain[i] * (row[i] - mean) * scale / size_of(row);
    if (centred) level += gradient[i] * gain[i] / size_of(row);
  }
  std::vector<double> slope(row.size());
  for (std::size_t i = 0; i < row.size(); ++i)
    slope[i] = scale * (gradient[i] * gain[i] - level - (row[i] - mean) * scale * along);
  return slope;
}

}  // namespace

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

std::vector<double> softmax_backward(std::span<const double> result, std::span<const double> gradient) {
  const double together = dot(result, gradient);
  std::vector<double> slope(result.size());
  for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = result[i] * (gradient[i] - together);
  return slope;
}

std::vector<double> layernorm_backward(std::span<const double> row, std::span<const double> gain,
                                       std::span<const double> gradient) {
  return norm_backward(row, gain, gradient, std::accumulate(row.begin(), row.end(), 0.0) / size_of(row), true);
}

std::vector<double> rmsnorm_backward(std::span<const double> row, std::span<const double> gain,
                                     std::span<const double> gradient) {
  return norm_backward(row, gain, gradient, 0, false);
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

std::size_t ConvSizes::inputs() const {
  return product(batch, hw, hw, c_in);
}
std::size_t ConvSizes::weights() const {
  return product(c_out, ksize, ksize, c_in);
}
std::size_t ConvSizes::outputs() const {
  return product(batch, out(), out(), c_out);
}

double convolution(const ConvSizes& s, ConvPass pass, const ConvTensors& tensors, std::size_t index) {
  if (pass == ConvPass::weight) return weight_gradient(s, tensors, Place::of(index, s.ksize, s.c_in));
  const bool forward = pass == ConvPass::forward;
  const Place place = forward ? Place::of(index, s.out(), s.c_out) : Place::of(index, s.hw, s.c_in);
  return through_weights(s, tensors, place, forward);
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
