// What the device's results are held against.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "calibration/microbench/reference.hpp"
#include "sim/base/rng.hpp"

namespace tessera::microbench {
namespace {

std::vector<double> random(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> values(size);
  for (double& v : values) v = 2 * rng.uniform() - 1;
  return values;
}

TEST(MicrobenchReference, Elementwise) {
  EXPECT_DOUBLE_EQ(elementwise("add", 0.5, 0.25), 0.75);
  EXPECT_DOUBLE_EQ(elementwise("mul", 0.5, 0.25), 0.125);
  EXPECT_DOUBLE_EQ(elementwise("div", 0.5, 0.25), 2);
  EXPECT_DOUBLE_EQ(elementwise("pow", 4, 0.5), 2);
  EXPECT_DOUBLE_EQ(elementwise("addu", 1, 0), 2.5);
  EXPECT_DOUBLE_EQ(elementwise("mulu", 2, 0), 3);
  EXPECT_DOUBLE_EQ(elementwise("divu", 3, 0), 2);
  EXPECT_DOUBLE_EQ(elementwise("powu", 4, 0), 8);
  EXPECT_DOUBLE_EQ(elementwise("relu", -1, 0), 0);
  EXPECT_DOUBLE_EQ(elementwise("relu", 1, 0), 1);
  EXPECT_DOUBLE_EQ(elementwise("silu", 0, 0), 0);
  EXPECT_DOUBLE_EQ(elementwise("silu", std::log(3.0), 0), 0.75 * std::log(3.0));
  EXPECT_DOUBLE_EQ(elementwise("tanh", 0.5 * std::log(3.0), 0), 0.5);
  // x Phi(x), the normal distribution at 1 to 16 digits
  EXPECT_NEAR(elementwise("gelu", 1, 0), 0.8413447460685429, 1e-15);
}

TEST(MicrobenchReference, SoftmaxOfLogarithmsIsTheirShares) {
  const std::vector<double> row{std::log(1.0), std::log(2.0), std::log(5.0)};
  const std::vector<double> shares = softmax(row);
  for (const auto& [found, expected] : {std::pair{shares[0], 0.125}, {shares[1], 0.25}, {shares[2], 0.625}})
    EXPECT_NEAR(found, expected, 1e-15);
  EXPECT_NEAR(softmax(std::vector<double>{1000, 1000})[0], 0.5, 1e-15);  // no overflow
}

TEST(MicrobenchReference, NormsHaveTheMomentsTheyPromise) {
  const std::vector<double> row = random(1000, 1), ones(1000, 1.0), zeros(1000, 0.0);
  const std::vector<double> normed = layernorm(row, ones, zeros);
  EXPECT_NEAR(std::accumulate(normed.begin(), normed.end(), 0.0), 0, 1e-9);
  EXPECT_NEAR(dot(normed, normed) / 1000, 1, 1e-4);  // epsilon is 1e-5 of a variance of a third
  const std::vector<double> scaled = rmsnorm(row, ones);
  EXPECT_NEAR(dot(scaled, scaled) / 1000, 1, 1e-4);
  EXPECT_NEAR(scaled[7] / scaled[8], row[7] / row[8], 1e-12);
  const std::vector<double> twice(1000, 2.0), threes(1000, 3.0);
  EXPECT_NEAR(layernorm(row, twice, threes)[5], 2 * normed[5] + 3, 1e-12);
}

/// Derivative of sum(gradient result(row)) by row[i], by central difference.
template <class Forward>
double slope_of(const Forward& forward, std::vector<double> row, const std::vector<double>& gradient, std::size_t i) {
  constexpr double kStep = 1e-5;
  row[i] += kStep;
  const double above = dot(forward(row), gradient);
  row[i] -= 2 * kStep;
  return (above - dot(forward(row), gradient)) / (2 * kStep);
}

TEST(MicrobenchReference, BackwardIsTheDerivativeOfForward) {
  const std::vector<double> row = random(17, 11), gradient = random(17, 12), gain = random(17, 13), none(17, 0.0);
  const auto layer = [&](std::span<const double> x) { return layernorm(x, gain, none); };
  const auto rms = [&](std::span<const double> x) { return rmsnorm(x, gain); };
  const std::vector<double> by_softmax = softmax_backward(softmax(row), gradient);
  const std::vector<double> by_layer = layernorm_backward(row, gain, gradient);
  const std::vector<double> by_rms = rmsnorm_backward(row, gain, gradient);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_NEAR(by_softmax[i], slope_of(softmax, row, gradient, i), 1e-8) << i;
    EXPECT_NEAR(by_layer[i], slope_of(layer, row, gradient, i), 1e-7) << i;
    EXPECT_NEAR(by_rms[i], slope_of(rms, row, gradient, i), 1e-7) << i;
  }
}

TEST(MicrobenchReference, Attention) {
  const std::vector<double> query = random(4, 2), keys = random(4, 3), values = random(4, 4);
  EXPECT_EQ(attention(query, keys, values), values);  // one key has all the weight
  // Two keys whose scores differ by log 3: weights 1/4 and 3/4.
  const std::vector<double> q{2, 0, 0, 0}, k{0, 0, 0, 0, std::log(3.0), 0, 0, 0}, v{4, 0, 0, 0, 8, 0, 0, 0};
  EXPECT_NEAR(attention(q, k, v)[0], 7, 1e-12);
}

TEST(MicrobenchReference, OneTapConvolutionIsAProduct) {
  const ConvSizes s{.batch = 1, .c_in = 2, .c_out = 1, .ksize = 1, .hw = 2, .stride = 1, .pad = 0};
  const std::vector<double> in{1, 2, 3, 4, 5, 6, 7, 8}, weights{10, 1};
  EXPECT_EQ(convolution(s, ConvPass::forward, {in, weights, {}}, 0), 12);
  EXPECT_EQ(convolution(s, ConvPass::forward, {in, weights, {}}, 3), 78);
}

TEST(MicrobenchReference, PaddingCountsAsZero) {
  const ConvSizes s{.batch = 1, .c_in = 1, .c_out = 1, .ksize = 3, .hw = 3, .stride = 2, .pad = 1};
  const std::vector<double> in{1, 2, 3, 4, 5, 6, 7, 8, 9}, ones(9, 1.0);
  ASSERT_EQ(s.outputs(), 4U);
  EXPECT_EQ(convolution(s, ConvPass::forward, {in, ones, {}}, 0), 1 + 2 + 4 + 5);
  EXPECT_EQ(convolution(s, ConvPass::forward, {in, ones, {}}, 3), 5 + 6 + 8 + 9);
}

/// <y, conv(x, w)> = <dgrad(y, w), x> = <wgrad(x, y), w>: the gradients are the convolution's adjoints.
TEST(MicrobenchReference, GradientsAreAdjoints) {
  for (const ConvSizes& s : {ConvSizes{2, 3, 4, 3, 7, 2, 1}, {1, 2, 3, 1, 5, 2, 0}, {2, 2, 2, 5, 8, 3, 2}}) {
    const std::vector<double> x = random(s.inputs(), 5), w = random(s.weights(), 6), y = random(s.outputs(), 7);
    const auto product = [&](ConvPass pass, const std::vector<double>& with) {
      double sum = 0;
      for (std::size_t i = 0; i < with.size(); ++i) sum += with[i] * convolution(s, pass, {x, w, y}, i);
      return sum;
    };
    const double forward = product(ConvPass::forward, y);
    EXPECT_NEAR(product(ConvPass::data, x), forward, 1e-12);
    EXPECT_NEAR(product(ConvPass::weight, w), forward, 1e-12);
  }
}

TEST(MicrobenchReference, RelativeError) {
  EXPECT_DOUBLE_EQ(relative_error(std::vector<double>{3, 0}, std::vector<double>{3, 4}), 0.8);
  EXPECT_EQ(relative_error(std::vector<double>{0}, std::vector<double>{0}), 0);
  EXPECT_TRUE(std::isnan(relative_error(std::vector<double>{std::nan("")}, std::vector<double>{1})));
}

}  // namespace
}  // namespace tessera::microbench
