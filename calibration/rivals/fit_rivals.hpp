// Fits NeuSight and the baselines of its paper, so that they stand beside our own model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct RivalFit {
  std::filesystem::path data;                      // root of the measurements, with NeuSight's in `neusight`
  std::filesystem::path out;                       // folder of the weights
  std::vector<std::string> leave_out;              // GPUs kept out
  std::vector<std::string> nets;                   // bmm, linear, elementwise, softmax, layernorm; empty: all
  int epochs = 100;                                // the paper's
  std::uint64_t seed = 0;                          // of the first weights, the split and the order of rows
  std::function<void(std::string_view)> progress;  // one line per epoch
};

struct Rival {
  std::string_view name;  // of the latency model
  std::string_view what;
  void (*fit)(const RivalFit& options);
};
/// One row per model that is fitted here, alphabetical.
std::span<const Rival> rivals();
/// Runs the row called `model`; InputError with the nearest name on a model or net that there is not.
void fit_rival(std::string_view model, const RivalFit& options);

void fit_neusight(const RivalFit& options);
void fit_habitat(const RivalFit& options);
void fit_li(const RivalFit& options);

}  // namespace tessera
