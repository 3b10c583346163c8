// NeuSight's measurements from either layout: the repackaged tables, or a checkout of github.com/sitar-lab/NeuSight.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/csv.hpp"

namespace tessera {

/// What holds `data/dataset`, `label` and `results` in a checkout at `folder` or in its subfolder `neusight` or
/// `NeuSight`: its scripts/asplos. Nothing where there is no checkout.
std::optional<std::filesystem::path> neusight_checkout(const std::filesystem::path& folder);

/// "NVIDIA A100 80GB PCIe" and, as folders have it, "NVIDIA_A100_80GB_PCIe" are our A100-PCIE-80GB.
std::string neusight_gpu(std::string_view device);

/// File of a table's test set in data/dataset/test of a checkout; empty: it has none.
std::string_view neusight_test_file(std::string_view name);

/// Table `name` (bmm, linear, elementwise, softmax, layernorm or conv) with the repackaged columns that our readers
/// use: `folder`/neusight/NAME.csv.gz, `folder`/NAME.csv.gz, or out of a checkout. From a checkout the rows come in the
/// same order and times with the same six digits, so that fits agree to the bit; what it lacks is left out (the public
/// one has no AMD training rows, and no merged bmm.csv and linear.csv: their parts are read).
/// InputError where there is nothing, or with the file and line of a cell that makes no sense.
CsvTable read_neusight(const std::filesystem::path& folder, std::string_view name);

}  // namespace tessera
