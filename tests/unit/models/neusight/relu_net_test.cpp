// The dense network of the rival models: evaluation, gradient, training, file.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "models/neusight/relu_net.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/rng.hpp"

namespace tessera {
namespace {

/// Half the squared distance to `target`, for nets with one output.
ReluTraining squares(std::vector<float> x, std::size_t inputs, std::vector<float> target) {
  ReluTraining data{std::move(x), target.size(), {}, {}};
  EXPECT_EQ(data.x.size(), inputs * target.size());
  data.loss = [target](std::size_t i, std::span<const float> out, std::span<float> slope) {
    slope[0] = out[0] - target[i];
    return 0.5 * slope[0] * slope[0];
  };
  data.error = [target](std::size_t i, std::span<const float> out) { return std::abs(double{out[0]} - target[i]); };
  return data;
}

TEST(ReluNet, TwoLayersByHand) {
  const ReluNet net({{2, 2, {1, 2, -1, 1}, {0.5F, 0}}, {2, 1, {3, 4}, {1}}});
  std::vector<float> out(1);
  net.evaluate(std::vector<float>{1, 1}, out);
  EXPECT_EQ(out[0], 1 + 3 * 3.5F + 4 * 0.0F);
  net.evaluate(std::vector<float>{-2, 0}, out);
  EXPECT_EQ(out[0], 1 + 3 * 0.0F + 4 * 2.0F);
}

TEST(ReluNet, ThePapersSize) {
  const ReluNet net(paper_widths(4, 3), 0);
  ASSERT_EQ(net.layers().size(), 8u);
  std::size_t parameters = 0;
  for (const DenseLayer& layer : net.layers()) parameters += layer.weights.size() + layer.bias.size();
  EXPECT_EQ(parameters, 4u * 512 + 512 + 6u * (512 * 512 + 512) + 512 * 3 + 3);
}

TEST(ReluNet, StartsWithinOneOverTheRootOfItsInputs) {
  const ReluNet net({4, 100, 1}, 7);
  for (const DenseLayer& layer : net.layers()) {
    for (const float w : layer.weights) EXPECT_LE(std::abs(w), 1 / std::sqrt(static_cast<double>(layer.inputs)));
  }
}

TEST(ReluNet, GradientMatchesADifferenceQuotient) {
  const ReluNet net({2, 5, 1}, 3);
  const ReluTraining data = squares({0.3F, -1, 2, 0.5F, -0.7F, 0.1F}, 2, {1, 0, -2});
  std::vector<DenseLayer> gradient, unused;
  relu_gradient(net, data, gradient);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t i = 0; i < net.layers()[layer].weights.size(); ++i) {
      std::vector<DenseLayer> up = net.layers(), down = net.layers();
      up[layer].weights[i] += 1e-2F;
      down[layer].weights[i] -= 1e-2F;
      const double rise = relu_gradient(ReluNet(up), data, unused) - relu_gradient(ReluNet(down), data, unused);
      EXPECT_NEAR(gradient[layer].weights[i], rise / 2e-2, 2e-2);
    }
  }
}

ReluTraining toy() {
  Rng rng(5);
  std::vector<float> x, y;
  for (int i = 0; i < 400; ++i) {
    const auto a = static_cast<float>(rng.uniform()), b = static_cast<float>(rng.uniform());
    x.insert(x.end(), {a, b});
    y.push_back(std::max(a, b));
  }
  return squares(x, 2, y);
}

TEST(ReluTraining, LearnsTheMaximumOfTwoNumbers) {
  double error = 1;
  const ReluOptions how{.epochs = 60, .batch = 16, .rate = 3e-3};
  train_relu(ReluNet({2, 16, 16, 1}, 1), toy(), how,
             [&](const EpochReport& report, const ReluNet&) { error = std::min(error, report.error); });
  EXPECT_LT(error, 0.02);
}

TEST(ReluTraining, SameSeedSameBitsAndTheBestEpochIsKept) {
  const ReluOptions how{.epochs = 5, .batch = 16, .rate = 3e-3};
  std::vector<ReluNet> best;
  const ReluNet one = train_relu(ReluNet({2, 8, 1}, 1), toy(), how, [&](const EpochReport& report, const ReluNet& net) {
    if (report.best) best.push_back(net);
  });
  const ReluNet two = train_relu(ReluNet({2, 8, 1}, 1), toy(), how);
  EXPECT_EQ(one.layers()[0].weights, two.layers()[0].weights);
  EXPECT_EQ(one.layers()[0].weights, best.back().layers()[0].weights);
}

TEST(ReluNetFile, ReadsBackTheSameNet) {
  const auto path = std::filesystem::path(testing::TempDir()) / "toy.net";
  const ReluNet net({3, 4, 2}, 9);
  write_net(path, net);
  const ReluNet read = read_net(path);
  ASSERT_EQ(read.layers().size(), 2u);
  EXPECT_EQ(read.layers()[1].weights, net.layers()[1].weights);
  EXPECT_EQ(read.layers()[0].bias, net.layers()[0].bias);
}

TEST(ReluNetFile, ATornFileIsRefused) {
  const auto path = std::filesystem::path(testing::TempDir()) / "torn.net";
  write_net(path, ReluNet({3, 4, 2}, 9));
  const std::string whole = read_file(path);
  write_file(path, whole.substr(0, whole.size() - 3));
  EXPECT_THROW((void)read_net(path), RunError);
  write_file(path, "something else");
  EXPECT_THROW((void)read_net(path), RunError);
}

}  // namespace
}  // namespace tessera
