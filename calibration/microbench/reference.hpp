// Results in double precision, one row or element at a time, to hold the device's against. No dependencies: the device
// library compiles it, too.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::microbench {

/// The scalar of addu, mulu, divu and powu.
inline constexpr double kScalar = 1.5;
inline constexpr double kEpsilon = 1e-5;  // of the norms

/// Operators of the `validate` contract on one element; `b` only for two tensors. gelu is the exact one, with erf.
double elementwise(std::string_view op, double a, double b);
std::vector<double> softmax(std::span<const double> row);
std::vector<double> layernorm(std::span<const double> row, std::span<const double> gain, std::span<const double> bias);
std::vector<double> rmsnorm(std::span<const double> row, std::span<const double> gain);
/// Gradients by the row of the input, given that of the result: of softmax from its result, of the norms from their
/// input. Gain and bias have gradients of their own, which are not computed.
std::vector<double> softmax_backward(std::span<const double> result, std::span<const double> gradient);
std::vector<double> layernorm_backward(std::span<const double> row, std::span<const double> gain,
                                       std::span<const double> gradient);
std::vector<double> rmsnorm_backward(std::span<const double> row, std::span<const double> gain,
                                     std::span<const double> gradient);
double dot(std::span<const double> a, std::span<const double> b);
/// One query against the keys and values (rows of its own size), scaled by 1 / sqrt(size).
std::vector<double> attention(std::span<const double> query, std::span<const double> keys,
                              std::span<const double> values);

struct ConvSizes {
  int batch = 1, c_in = 1, c_out = 1, ksize = 1, hw = 1, stride = 1, pad = 0;
  [[nodiscard]] int out() const { return (hw + 2 * pad - ksize) / stride + 1; }
  [[nodiscard]] std::size_t inputs() const;
  [[nodiscard]] std::size_t weights() const;
  [[nodiscard]] std::size_t outputs() const;
};
enum class ConvPass { forward, data, weight };
/// Tensors with channels last: batch, y, x, channel; the weights are output channel, y, x, input channel.
struct ConvTensors {
  std::span<const double> input, weights, output;
};
/// The element at `index` of what the pass computes (output, input or weights) from the other two.
double convolution(const ConvSizes& sizes, ConvPass pass, const ConvTensors& tensors, std::size_t index);

/// ||result - expected|| / ||expected||; NaN where a result is.
double relative_error(std::span<const double> result, std::span<const double> expected);

}  // namespace tessera::microbench
