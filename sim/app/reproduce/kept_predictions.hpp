// Predictions of a model whose weights are too large to keep: its answers for measured kernels, as a table.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "models/latency_model.hpp"
#include "sim/app/reproduce/comparison.hpp"

namespace tessera {

/// Columns gpu, op, b, m, n, k, rows, h, predicted_ms, without anything measured: what `method` says of the kernels.
std::string kept_csv(const Comparison& kernels, std::string_view method);

/// A model that knows these kernels on these GPUs and refuses others with RunError.
std::unique_ptr<LatencyModel> read_kept(const std::filesystem::path& path);

}  // namespace tessera
