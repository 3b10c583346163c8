// Readers of AIConfigurator's tables (github.com/ai-dynamo/aiconfigurator, Apache-2.0), folder
// `kernels/aiconfigurator`: one folder per system, one file per operator and runtime.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/dataset.hpp"

namespace tessera {

struct AicSystem {
  std::string_view folder, gpu;
};
/// The folders known, and the GPU that each measured.
std::span<const AicSystem> aic_systems();
/// The files of one operator ("gemm", "context_attention", ...) in a system's folder, sorted.
std::vector<std::filesystem::path> aic_files(const std::filesystem::path& data, const AicSystem& system,
                                             std::string_view op);

/// gemm tables: graph timing, five weight copies in rotation. Kernels with a quantisation step before them
/// (`torch_flow` fp8 and nvfp4, block-scaled fp8, weight-only) are left out.
Dataset read_aic_gemm(const std::filesystem::path& data);

}  // namespace tessera
