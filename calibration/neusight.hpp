// Readers of the NeuSight artifact (github.com/sitar-lab/NeuSight, MIT): `data`/neusight in the repackaged layout, or a
// checkout of the repository itself (neusight_repository.hpp).
#pragma once

#include <filesystem>

#include "calibration/dataset.hpp"

namespace tessera {

/// linear.csv.gz and bmm.csv.gz: fp32, eager timing, operands warm. `fit` is set for split=train rows. Left out: P4's
/// linear rows of split=train, which other kernels ran four times slower than its test rows.
Dataset read_neusight_gemm(const std::filesystem::path& data);

/// elementwise, softmax and layernorm .csv.gz: fp32, eager timing, operands warm. Sessions: the files.
Dataset read_neusight_vector(const std::filesystem::path& data);
/// The elementwise rows that are bound by memory, as plain copies of as many bytes.
Dataset read_neusight_copies(const std::filesystem::path& data);
/// conv.csv.gz: forward, fp32, 3x3, stride 1, eager timing. A100-PCIE-80GB's rows are split=test.
Dataset read_neusight_conv(const std::filesystem::path& data);

}  // namespace tessera
