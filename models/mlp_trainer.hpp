// Fits a network to measured times; same data, options and seed give the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/mlp.hpp"

namespace tessera {

enum class Loss : std::uint8_t { l1, huber, pinball };

/// Samples of log(time) = log_time(log_base + offset of the session, net(x), log_floor); see log_time.hpp. Offsets are
/// learned beside the net and then dropped: what a device or a session does to all its kernels alike teaches the net
/// nothing about shapes, and with few devices it would be memorised. They sum to zero.
struct TrainingSet {
  int inputs = 0;
  std::vector<float> x{};  // standardised, sample after sample
  std::vector<float> log_base{}, log_floor{}, log_target{};
  std::vector<float> weight{};           // empty: all 1
  std::vector<std::uint16_t> session{};  // 0, 1, ... per sample; empty: no offsets
  int optional_inputs = 0;               // the last ones of a row: 0 for half of the samples of each epoch, by lot
  [[nodiscard]] std::size_t size() const { return log_target.size(); }
};

struct TrainOptions {
  std::vector<int> hidden{48, 48};
  int epochs = 15;
  int batch = 256;
  double rate = 4e-3;  // peak of the one-cycle schedule (Smith & Topin, arXiv 1708.07120)
  double weight_decay = 0.01;
  Loss loss = Loss::l1;
  double huber_width = 0.1;  // on the log
  double quantile = 0.5;     // pinball only
  std::uint64_t seed = 1;
};

/// Mean loss per epoch, for those who watch.
using EpochCallback = std::function<void(int epoch, double loss)>;

/// AdamW (Loshchilov & Hutter, arXiv 1711.05101). The last layer starts at zero: the closed form itself.
Mlp train(const TrainingSet& data, const TrainOptions& options, const EpochCallback& watch = {});

/// One network per seed: options.seed, options.seed + 1, ...
std::vector<Mlp> train_ensemble(const TrainingSet& data, const TrainOptions& options, int members);

/// Mean loss over the set, and its gradient in the order of the layers (weights then bias); for tests.
double loss_and_gradient(const Mlp& net, const TrainingSet& data, const TrainOptions& options,
                         std::vector<DenseLayer>& gradient);

}  // namespace tessera
