#include "models/bar.hpp"

#include <algorithm>
#include <cmath>

namespace tessera {

namespace {

constexpr double kMaxSpread = 0.5, kMaxTurn = 1.5;
constexpr double kWidening = 1.0, kWidest = 4.0;

}  // namespace

std::array<double, 4> bar_terms(const BarInputs& inputs) {
  return {1, std::clamp(inputs.floor_share, 0.0, 1.0), std::min(inputs.spread, kMaxSpread),
          std::max(inputs.narrow, 0.0)};
}

double bar_scale(const Bar& bar, const BarInputs& inputs) {
  const std::array<double, 4> terms = bar_terms(inputs);
  double turn = 0;
  for (std::size_t i = 1; i < terms.size(); ++i) turn += bar.log_scale[i] * terms[i];
  return std::exp(bar.log_scale[0] + std::clamp(turn, -kMaxTurn, kMaxTurn));
}

double widened_scale(const Bar& bar, const BarInputs& inputs) {
  return bar_scale(bar, inputs) * std::min(1 + kWidening * inputs.out_of_range, kWidest);
}

}  // namespace tessera
