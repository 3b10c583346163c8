// The network and its trainer: exact answers, exact gradients, and a function learned.
#include "models/mlp.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/log_time.hpp"
#include "models/mlp_trainer.hpp"
#include "sim/base/rng.hpp"

namespace tessera {
namespace {

double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(Mlp, EvaluatesLayersInTurn) {
  // y = 3 gelu(2 a - b + 1) - gelu(b) + 0.5
  const Mlp net({{2, 2, {2, -1, 0, 1}, {1, 0}}, {2, 1, {3, -1}, {0.5F}}});
  const std::vector<float> in{1, 2, -0.5F, 0.25F};
  std::vector<float> out(2);
  net.evaluate(in, out);
  EXPECT_NEAR(out[0], 3 * gelu_of(1) - gelu_of(2) + 0.5, 1e-5);
  EXPECT_NEAR(out[1], 3 * gelu_of(-0.25) - gelu_of(0.25) + 0.5, 1e-5);
}

std::vector<float> random_floats(std::size_t count, Rng& rng) {
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(rng.normal());
  return values;
}

Mlp random_net(int inputs, int hidden, Rng& rng) {
  const auto layer = [&rng](int in, int out) {
    return DenseLayer{in, out, random_floats(static_cast<std::size_t>(in) * static_cast<std::size_t>(out), rng),
                      random_floats(static_cast<std::size_t>(out), rng)};
  };
  return Mlp({layer(inputs, hidden), layer(hidden, hidden), layer(hidden, 1)});
}

TEST(Mlp, ASampleDoesNotDependOnItsNeighbours) {
  Rng rng(1);
  const Mlp net = random_net(5, 24, rng);
  const std::vector<float> all = random_floats(5 * 77, rng);
  std::vector<float> together(77);
  net.evaluate(all, together);
  for (std::size_t i = 0; i < 77; ++i) {
    float alone = 0;
    net.evaluate(std::span(all).subspan(5 * i, 5), std::span(&alone, 1));
    EXPECT_EQ(alone, together[i]) << i;
  }
}

TrainingSet random_set(std::size_t samples, int inputs, Rng& rng) {
  TrainingSet data{.inputs = inputs, .x = random_floats(samples * static_cast<std::size_t>(inputs), rng)};
  data.log_base = random_floats(samples, rng);
  data.log_floor = random_floats(samples, rng);
  data.log_target = random_floats(samples, rng);
  return data;
}

class Gradient : public testing::TestWithParam<Loss> {};

TEST_P(Gradient, AgreesWithFiniteDifferences) {
  Rng rng(2);
  const Mlp net = random_net(3, 4, rng);
  const TrainingSet data = random_set(50, 3, rng);
  const TrainOptions options{.loss = GetParam(), .huber_width = 0.5, .quantile = 0.9};
  std::vector<DenseLayer> gradient, unused;
  loss_and_gradient(net, data, options, gradient);
  constexpr float kStep = 2e-3F;
  for (std::size_t layer = 0; layer < gradient.size(); ++layer) {
    for (std::size_t i = 0; i < gradient[layer].weights.size(); ++i) {
      const auto moved = [&](float step) {
        std::vector<DenseLayer> layers = net.layers();
        layers[layer].weights[i] += step;
        return loss_and_gradient(Mlp(layers), data, options, unused);
      };
      const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      // A kink of the loss inside the step, and single precision, cost a few per mille.
      EXPECT_NEAR(gradient[layer].weights[i], slope, 0.02 * std::abs(slope) + 5e-3) << layer << " " << i;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Losses, Gradient, testing::Values(Loss::l1, Loss::huber, Loss::pinball));

/// log(time) = log_time(0, sin(2 a) + a b / 2, -3).
TrainingSet known_function(std::size_t samples, std::uint64_t seed) {
  Rng rng(seed);
  TrainingSet data{.inputs = 2};
  for (std::size_t i = 0; i < samples; ++i) {
    const double a = 4 * rng.uniform() - 2, b = 2 * rng.uniform() - 1;
    data.x.insert(data.x.end(), {static_cast<float>(a), static_cast<float>(b)});
    data.log_base.push_back(0);
    data.log_floor.push_back(-3);
    data.log_target.push_back(static_cast<float>(log_time(0, std::sin(2 * a) + a * b / 2, -3)));
  }
  return data;
}

double mean_loss(const Mlp& net, const TrainingSet& data) {
  std::vector<DenseLayer> unused;
  return loss_and_gradient(net, data, {}, unused);
}

TEST(Trainer, LearnsAFunctionThatItHasNotSeenAllOf) {
  const Mlp net = train(known_function(8000, 1), {.hidden = {32, 32}, .epochs = 30});
  EXPECT_LT(mean_loss(net, known_function(1000, 2)), 0.03);
}

TEST(Trainer, StartsAtTheClosedForm) {
  const Mlp net = train(known_function(100, 1), {.epochs = 0});
  float out = 1;
  net.evaluate(std::vector<float>{0.3F, -0.7F}, std::span(&out, 1));
  EXPECT_EQ(out, 0);
}

TEST(Trainer, RepeatsBitForBit) {
  const TrainingSet data = known_function(1000, 1);
  const Mlp first = train(data, {.epochs = 3, .seed = 7});
  std::vector<std::vector<char>> other_heap(17, std::vector<char>(13));
  const Mlp second = train(data, {.epochs = 3, .seed = 7});
  const Mlp third = train(data, {.epochs = 3, .seed = 8});
  for (std::size_t i = 0; i < first.layers().size(); ++i) {
    EXPECT_EQ(first.layers()[i].weights, second.layers()[i].weights);
    EXPECT_NE(first.layers()[i].weights, third.layers()[i].weights);
  }
}

/// Two sessions that differ by a factor leave the net alone: it predicts the middle.
TEST(Trainer, SessionsAreNotLearned) {
  TrainingSet data = known_function(4000, 1);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data.session.push_back(static_cast<std::uint16_t>(i % 2));
    data.log_floor[i] = -30;
    data.log_target[i] = i % 2 == 0 ? 0.4F : -0.4F;
  }
  const Mlp net = train(data, {.hidden = {16}, .epochs = 20});
  float out = 1;
  net.evaluate(std::vector<float>{0.3F, -0.7F}, std::span(&out, 1));
  EXPECT_NEAR(out, 0, 0.05);
}

TEST(Trainer, ReportsTheLossOfEveryEpoch) {
  std::vector<double> losses;
  train(known_function(2000, 1), {.epochs = 5}, [&losses](int epoch, double loss) {
    EXPECT_EQ(epoch, static_cast<int>(losses.size()));
    losses.push_back(loss);
  });
  ASSERT_EQ(losses.size(), 5U);
  EXPECT_LT(losses.back(), losses.front());
}

TEST(LogTime, FloorAndCorrectionAreBounded) {
  EXPECT_DOUBLE_EQ(log_time(std::log(3.0), 0, std::log(2.0)), std::log(5.0));
  EXPECT_NEAR(bounded(100), kMaxCorrection, 1e-12);
  EXPECT_NEAR(bounded(1e-3), 1e-3, 1e-9);
  EXPECT_DOUBLE_EQ(log_add(1.5, -INFINITY), 1.5);
}

}  // namespace
}  // namespace tessera
