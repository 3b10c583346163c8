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

/// The runtime that a table's file name gives after the operator: "gemm__vllm-0.24.0.csv.gz".
Runtime aic_runtime(const std::filesystem::path& file);

/// gemm tables: graph timing, five weight copies in rotation. The quantisation step before them
/// is in fp8's (vLLM's kernel alone) and nvfp4's rows; `torch_flow` fp8, block-scaled fp8 and weight-only ones are left
/// out.
Dataset read_aic_gemm(const std::filesystem::path& data);

/// context_attention and generation_attention tables: bf16 operands and cache, no window, no beams. The cache that a
/// row reads is the one that its last repetition read, so it stays in L2 where it fits.
Dataset read_aic_prefill(const std::filesystem::path& data);
Dataset read_aic_decode(const std::filesystem::path& data);

/// context_mla and generation_mla tables: bf16 operands and cache.
Dataset read_aic_mla_prefill(const std::filesystem::path& data);
Dataset read_aic_mla_decode(const std::filesystem::path& data);

/// moe tables: bf16 and plain fp8, no expert parallelism, all routing distributions.
Dataset read_aic_moe(const std::filesystem::path& data);

}  // namespace tessera
