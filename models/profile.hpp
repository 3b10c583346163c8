// The calibrated tier: what measurements of one GPU say about the errors of the fitted models on it, as a small file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/family.hpp"
#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"

namespace tessera {

inline constexpr int kProfileVersion = 1;

/// Largest |log_offset| of a profile, a factor of 20: beyond, something else was measured.
inline constexpr double kLargestOffset = 3;

/// Longest launch of one kernel that a host takes: beyond, something else was measured.
inline constexpr Seconds kLongestLaunch(1e-3);

/// Of one family of kernels on the profile's GPU, in one dtype or in all that were not measured.
struct FamilyOffset {
  FamilyId family = FamilyId::memory;
  std::optional<Dtype> dtype;  // empty: dtypes without a row of their own
  std::int64_t rows = 0;       // measurements of it; 0: what other families' rows say
  double log_offset = 0;       // of measured over predicted
  double deviation = 0;        // of log_offset, after the measurements
};

struct ProfileSource {
  std::string file, hash;  // of its content
};

struct Profile {
  std::string name;     // of the file
  std::string gpu;      // name in platforms/gpus
  std::string date;     // of the measurements, as their record says it; may be empty
  std::string weights;  // hash of the fitted weights that the offsets are from
  std::vector<ProfileSource> sources;
  std::optional<Seconds> host_launch;  // CPU time to launch a kernel; empty: not measured
  bool bare_launch = false;            // measured without a framework: no more than a lower bound for one
  std::vector<FamilyOffset> offsets;

  /// The row of a family and dtype, else of its other dtypes; null where the profile says nothing.
  [[nodiscard]] const FamilyOffset* offset_of(FamilyId family, Dtype dtype) const;
  /// What a node whose description says `described` takes per launch.
  [[nodiscard]] Seconds launch_time(Seconds described) const;
};

/// yyyy-mm-dd of a day that there is, whatever follows.
bool is_date(std::string_view text);
/// InputError with every mistake: unknown version, family or GPU, numbers that are none.
Profile read_profile(const std::filesystem::path& path);
/// A name in platforms/profiles or a path ending in .yaml.
Profile find_profile(std::string_view profile);
/// The file that `read_profile` reads.
std::string to_yaml(const Profile& profile);

}  // namespace tessera
