#include "calibration/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "models/log_time.hpp"

namespace tessera {

namespace {

constexpr std::size_t kConstantRows = 150;
constexpr double kPull = 0.002;  // loss per (e-fold)^2 away from the start
constexpr std::array kSteps{1.5, 1.2, 1.08};
constexpr int kSweepsPerStep = 2;

class Objective {
 public:
  Objective(const Recipe& recipe, const Dataset& data, FamilyWeights& weights)
      : analyse_(families()[static_cast<std::size_t>(recipe.family)].analyse), data_(data), weights_(weights) {
    for (const std::string& gpu : data.gpus) devices_.push_back(derive_device(find_gpu(gpu)));
    for (const auto& [name, value] : weights.constants) start_.push_back(value);
  }

  [[nodiscard]] double operator()() const {
    std::map<std::pair<std::uint16_t, std::uint16_t>, std::pair<double, double>> groups;  // loss, samples
    for (const Sample& sample : data_.samples) {
      const KernelAnalysis a = analyse_(sample.kernel, devices_[sample.gpu], sample.context, weights_);
      const double predicted = log_time(std::log(a.base.value()), 0, std::log(a.floor.value()));
      auto& [loss, count] = groups[{sample.gpu, sample.session}];
      loss += std::abs(std::log(sample.time.value()) - predicted);
      ++count;
    }
    double total = 0;
    for (const auto& [key, group] : groups) total += group.first / group.second / static_cast<double>(groups.size());
    for (std::size_t i = 0; i < start_.size(); ++i) {
      const double away = std::log(weights_.constants[i].second / start_[i]);
      total += kPull * away * away;
    }
    return total;
  }

 private:
  Analyse analyse_;
  const Dataset& data_;
  FamilyWeights& weights_;
  std::vector<Device> devices_;
  std::vector<double> start_;
};

/// Steps one constant up or down while that helps; the best loss so far.
double descend(const Objective& objective, double& constant, double step, double best) {
  for (const double factor : {step, 1 / step}) {
    const double before = constant;
    constant = before * factor;
    const double loss = objective();
    if (loss < best) return loss;
    constant = before;
  }
  return best;
}

}  // namespace

void fit_constants(const Recipe& recipe, const Dataset& data, FamilyWeights& weights) {
  const Dataset some = thin(data, kConstantRows);
  const Objective objective(recipe, some, weights);
  double best = objective();
  for (const double step : kSteps) {
    for (int sweep = 0; sweep < kSweepsPerStep; ++sweep) {
      for (auto& [name, value] : weights.constants) best = descend(objective, value, step, best);
    }
  }
}

}  // namespace tessera
