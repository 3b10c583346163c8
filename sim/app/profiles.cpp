#include "sim/app/profiles.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/paths.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {

std::string weights_hash(const std::filesystem::path& weights) {
  const std::filesystem::path folder = weights.empty() ? home() / "calibration" / "weights" : weights;
  if (!std::filesystem::is_directory(folder))
    throw InputError(Diagnostic{"--weights", 0, 0, fmt::format("no folder '{}'", folder.string())});
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  std::string text;
  for (const auto& file : files) text += file.filename().string() + ' ' + content_hash(read_file(file)) + '\n';
  return content_hash(text);
}

Profile load_profile(std::string_view name, std::string_view latency_model, const std::filesystem::path& weights) {
  Profile profile = find_profile(name);
  if (latency_model != kCalibratedModel)
    throw InputError(Diagnostic{.message = fmt::format("profile {} shifts the latency model '{}', not '{}'",
                                                       profile.name, kCalibratedModel, latency_model)});
  if (profile.weights != weights_hash(weights))
    throw InputError(Diagnostic{
        .message = fmt::format("profile {} was made with other weights than those in use; run tessera calibrate --gpu "
                               "{} --measurements ... again",
                               profile.name, profile.gpu)});
  return profile;
}

Profile load_profile_for(const GpuSpec& gpu, std::string_view name, std::string_view latency_model) {
  Profile profile = load_profile(name, latency_model);
  if (profile.gpu == gpu.name) return profile;
  throw InputError(
      Diagnostic{.message = fmt::format("profile {} is of {}, not of {}", profile.name, profile.gpu, gpu.name)});
}

}  // namespace tessera
