// Files of measurements of one GPU as the evidence for its profile.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/profile_fit.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {

struct ProfileRows {
  std::vector<Observation> kernels;
  std::optional<Seconds> launch;  // the fastest: CPU time per launch
  bool bare_launch = true;        // no framework launched
  std::string date;               // of the first record that has one
  std::vector<ProfileSource> sources;
  std::map<std::string, std::size_t> left_out;  // rows by reason
};

/// Rows of kernels in the columns that `validate` reads, and those of `tessera microbench`'s device.csv: `copy` and its
/// kin are priced as copies of `bytes`, `launch` is the host's time (host_us, else latency_ms). Rows of other GPUs are
/// left out; `machine.json` beside a file, or its column `date`, dates it. InputError with every mistake, and where no
/// row is usable.
ProfileRows read_profile_rows(std::span<const std::filesystem::path> files, const std::string& where,
                              const GpuSpec& gpu, const LatencyModel& model);

}  // namespace tessera
