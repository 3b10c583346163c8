#include "calibration/aiconfigurator.hpp"

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"

namespace tessera {

std::span<const AicSystem> aic_systems() {
  static constexpr std::array kSystems{AicSystem{"a100_sxm", "A100-SXM-80GB"}, AicSystem{"b200_sxm", "B200-SXM-180GB"},
                                       AicSystem{"h100_sxm", "H100-SXM-80GB"}, AicSystem{"l40s", "L40S"}};
  return kSystems;
}

std::vector<std::filesystem::path> aic_files(const std::filesystem::path& data, const AicSystem& system,
                                             std::string_view op) {
  const std::filesystem::path folder = data / "kernels" / "aiconfigurator" / system.folder;
  const std::string start = std::string(op) + "__";
  if (!std::filesystem::is_directory(folder)) {
    throw InputError(
        Diagnostic{.file = folder.string(), .message = "no such folder; expected AIConfigurator's tables"});
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(start)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

Runtime aic_runtime(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const std::size_t begin = name.find("__") + 2;
  return parse_runtime(std::string_view(name).substr(begin, name.find('-', begin) - begin));
}

}  // namespace tessera
