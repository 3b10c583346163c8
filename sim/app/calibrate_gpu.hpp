// `calibrate --gpu`: measurements of one GPU into its profile.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

struct GpuCalibration {
  std::string gpu, where;
  std::vector<std::filesystem::path> files;
  std::filesystem::path weights;  // empty: the committed ones
  std::filesystem::path out;      // empty: platforms/profiles/GPU.yaml
  bool json = false;
};

/// Writes the profile and prints what it says.
void calibrate_gpu(const GpuCalibration& options);

}  // namespace tessera
