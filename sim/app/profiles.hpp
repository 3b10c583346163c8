// Profiles as scenarios and flags name them: found, and checked against what they are used with.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibrated_model.hpp"
#include "sim/cluster/cluster.hpp"

namespace tessera {

/// The latency model that profiles are relative to.
inline constexpr std::string_view kCalibratedModel = "tile";

/// Of the names and contents of a folder's weights; empty: the committed ones.
std::string weights_hash(const std::filesystem::path& weights = {});

/// InputError where there is no such profile, it is damaged, another latency model prices kernels, or it was made with
/// other weights.
Profile load_profile(std::string_view name, std::string_view latency_model, const std::filesystem::path& weights = {});
/// As above, for one GPU: InputError where the profile is of another.
Profile load_profile_for(const GpuSpec& gpu, std::string_view name, std::string_view latency_model);

}  // namespace tessera
