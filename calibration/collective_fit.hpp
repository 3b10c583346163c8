// Fits the constants of the collectives' model on measured collectives.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "calibration/collective_rows.hpp"
#include "models/collectives/parameters.hpp"

namespace tessera {

/// Mean abs error of one set on one machine.
struct CollectiveError {
  std::string set, platform;
  std::size_t rows = 0, large_rows = 0;
  double mean = 0, large_mean = 0;  // of all rows; of 16 MiB and more
};

/// Coordinate descent on the logs of the constants: mean |log(measured / predicted)|, every set on every machine
/// counting alike, plus a pull towards the start that keeps what the data does not determine. First the pooled
/// constants, then from them each class of machines by itself. GPUs in `leave_out` are not looked at. The bars are left
/// at 0. Deterministic.
CollectiveParameters fit_collective_constants(const CollectiveDataset& data,
                                              std::span<const std::string> leave_out = {});

std::vector<CollectiveError> collective_errors(const CollectiveDataset& data, const CollectiveParameters& parameters,
                                               std::span<const std::string> only_gpus = {});

/// Constants and error bars: unseen classes from fits without each class in turn, seen ones from the fit itself.
CollectiveParameters fit_collectives(const CollectiveDataset& data, std::span<const std::string> leave_out = {});

/// Reads `data`, fits, writes `out`/collectives.json; `leave_out` are GPUs.
void fit_collectives_file(const std::filesystem::path& data, const std::filesystem::path& out,
                          std::span<const std::string> leave_out = {});

}  // namespace tessera
