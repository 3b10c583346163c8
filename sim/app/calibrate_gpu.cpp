#include "sim/app/calibrate_gpu.hpp"

#include <cmath>

#include <fmt/format.h>

#include "sim/app/output_path.hpp"
#include "sim/app/profile_rows.hpp"
#include "sim/app/profiles.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/text.hpp"
#include "sim/config/json.hpp"

namespace tessera {
namespace {

Profile profile_of(const GpuCalibration& options, const GpuSpec& gpu, ProfileRows& rows) {
  const auto model = make_latency_model(kCalibratedModel, options.weights);
  rows = read_profile_rows(options.files, options.where, gpu, *model);
  Profile profile;
  profile.gpu = gpu.name;
  profile.date = rows.date;
  profile.weights = weights_hash(options.weights);
  profile.sources = rows.sources;
  profile.host_launch = rows.launch;
  if (!rows.date.empty() && !is_date(rows.date))
    throw InputError(Diagnostic{.file = options.files.front().string(),
                                .message = fmt::format("expected a date such as 2026-05-31, found '{}'", rows.date)});
  if (rows.launch && *rows.launch > kLongestLaunch)
    throw InputError(Diagnostic{.file = options.files.front().string(),
                                .message = fmt::format("a launch of {} is none; another unit?", format(*rows.launch))});
  profile.bare_launch = rows.launch && rows.bare_launch;
  if (!rows.kernels.empty()) profile.offsets = fit_offsets(rows.kernels, shared_deviations(*model, gpu));
  for (const FamilyOffset& offset : profile.offsets)
    if (!(std::abs(offset.log_offset) <= kLargestOffset))
      throw InputError(Diagnostic{
          .file = options.files.front().string(),
          .message = fmt::format("measured times of {} are e^{:.1f} times the predicted ones: "
                                 "measurements of something else, or another unit?",
                                 families()[static_cast<std::size_t>(offset.family)].name, offset.log_offset)});
  return profile;
}

Json as_json(const Profile& profile, const std::filesystem::path& path) {
  Json offsets = Json::array();
  for (const FamilyOffset& offset : profile.offsets)
    offsets.push(Json(Json::Object{{"family", families()[static_cast<std::size_t>(offset.family)].name},
                                   {"dtype", offset.dtype ? Json(to_string(*offset.dtype)) : Json()},
                                   {"rows", offset.rows},
                                   {"log_offset", offset.log_offset},
                                   {"deviation", offset.deviation}}));
  return Json(Json::Object{{"gpu", profile.gpu},
                           {"file", path.string()},
                           {"host_launch_s", profile.host_launch ? Json(profile.host_launch->value()) : Json()},
                           {"offsets", std::move(offsets)}});
}

void print(const Profile& profile, const ProfileRows& rows, const std::filesystem::path& path) {
  fmt::print("{:<12} {:<6} {:>7} {:>9} {:>12}\n", "family", "dtype", "rows", "shift %", "deviation %");
  for (const FamilyOffset& offset : profile.offsets)
    fmt::print("{:<12} {:<6} {:>7} {:>+9.1f} {:>12.1f}\n", families()[static_cast<std::size_t>(offset.family)].name,
               offset.dtype ? to_string(*offset.dtype) : "other", offset.rows, 100 * std::expm1(offset.log_offset),
               100 * offset.deviation);
  if (profile.host_launch)
    fmt::print("host launch {}{}\n", format(*profile.host_launch),
               profile.bare_launch ? ", without a framework: a lower bound" : "");
  for (const auto& [reason, count] : rows.left_out) fmt::print("left out, {} rows: {}\n", count, reason);
  fmt::print("Profile in {}\n", path.string());
}

}  // namespace

void calibrate_gpu(const GpuCalibration& options) {
  const GpuSpec gpu = find_gpu(options.gpu);
  const std::filesystem::path path =
      options.out.empty() ? home() / "platforms" / "profiles" / (gpu.name + ".yaml") : options.out;
  if (path.extension() != ".yaml")
    throw InputError(Diagnostic{.file = "--out",
                                .message = fmt::format("expected a file that ends in .yaml, found {}", path.string())});
  require_output_file(path);
  ProfileRows rows;
  const Profile profile = profile_of(options, gpu, rows);
  write_file(path, to_yaml(profile));
  if (options.json) {
    fmt::print("{}\n", as_json(profile, path).dump());
  } else {
    print(profile, rows, path);
  }
}

}  // namespace tessera
