// Habitat's scheme as NeuSight's artifact implements it: nets for matrices, measured times scaled by bandwidth for the
// rest.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/neusight/operation.hpp"

namespace tessera::neusight {

/// b, m, n, k, then memory, bandwidth, SMs and peak of the device: raw, standardised later.
inline constexpr int kHabitatInputs = 8;
std::array<double, kHabitatInputs> habitat_features(const Operation& operation, const GpuNumbers& gpu);

/// Mean and deviation of each input over the training rows.
struct Scale {
  std::array<double, kHabitatInputs> mean{}, deviation{};
};
Scale scale_of(std::span<const std::array<double, kHabitatInputs>> rows);
void standardise(const std::array<double, kHabitatInputs>& raw, const Scale& scale, std::vector<float>& x);

/// A vector kernel measured on one of the origins.
struct OriginRow {
  std::string gpu;
  Operation operation;
  Seconds time;
};
/// V100, and P100 for predictions of the V100 itself.
inline constexpr std::string_view kOrigin = "V100-PCIE-32GB", kSecondOrigin = "P100-PCIE-16GB";

class OriginTable {
 public:
  explicit OriginTable(std::vector<OriginRow> rows);
  /// time of the measured kernel of the same operator on the origin x bytes / its bytes x bandwidth ratio; where the
  /// shape was not measured, the nearest by log rows and log h. RunError where no such operator was measured.
  [[nodiscard]] Seconds scaled(const Operation& operation, const GpuSpec& gpu) const;
  [[nodiscard]] const std::vector<OriginRow>& rows() const { return rows_; }

 private:
  std::vector<OriginRow> rows_;
};

OriginTable read_origins(const std::filesystem::path& path);
void write_origins(const std::filesystem::path& path, std::span<const OriginRow> rows);
Scale read_scale(const std::filesystem::path& path);

}  // namespace tessera::neusight
