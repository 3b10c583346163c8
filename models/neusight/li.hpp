// The regression of Li et al. as NeuSight's artifact implements it: a line per GPU and operator class.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/neusight/operation.hpp"

namespace tessera::neusight {

/// time = slope x amount + offset; the amount is FLOPs of matrices and bytes of vectors.
struct LiLine {
  std::string gpu;
  Kind net = Kind::bmm;
  double slope = 0;  // seconds per FLOP or byte
  Seconds offset;
};

double li_amount(const Operation& operation);

/// The line of a GPU of one class: its own where it was fitted; else 1 / slope is read off the least-squares line over
/// the fitted GPUs' bandwidths, and the offset is 0. The slope is then negative below the bandwidth where that
/// line crosses zero, as in the original.
LiLine li_line(const std::vector<LiLine>& fitted, Kind net, const GpuSpec& gpu);

std::vector<LiLine> read_lines(const std::filesystem::path& path);
void write_lines(const std::filesystem::path& path, const std::vector<LiLine>& lines, const std::string& command);

}  // namespace tessera::neusight
