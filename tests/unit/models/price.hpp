// One kernel priced by the default model, for tests.
#pragma once

#include <string_view>

#include "models/latency_model.hpp"

namespace tessera {

inline constexpr PredictContext kInModel{Timing::graph, Residency::cold};
inline constexpr PredictContext kRepeated{Timing::graph, Residency::warm};

inline KernelCost price(const Kernel& kernel, const GpuSpec& gpu, PredictContext context = kInModel) {
  static const auto kModel = make_latency_model("tile");
  return kModel->predict(std::span(&kernel, 1), gpu, context).front();
}

inline KernelCost price(const Kernel& kernel, std::string_view gpu, PredictContext context = kInModel) {
  return price(kernel, find_gpu(gpu), context);
}

}  // namespace tessera
