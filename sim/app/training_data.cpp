#include "sim/app/training_data.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {

std::filesystem::path training_data(const std::string& given, const std::string& flag) {
  const char* fallback = std::getenv("TESSERA_DATA");
  const std::filesystem::path folder = !given.empty() ? given : fallback != nullptr ? fallback : "";
  if (folder.empty()) {
    throw InputError(Diagnostic{.file = flag,
                                .line = 0,
                                .column = 0,
                                .message = "needs the measurements to fit on; give --data DIR or set TESSERA_DATA"});
  }
  if (!std::filesystem::is_directory(folder)) {
    throw InputError(
        Diagnostic{.file = flag, .line = 0, .column = 0, .message = fmt::format("no folder '{}'", folder.string())});
  }
  return folder;
}

std::vector<std::string> left_out_gpus(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    try {
      found.push_back(find_gpu(name).name);
    } catch (const InputError& error) {
      throw InputError(
          Diagnostic{.file = "--leave-out", .line = 0, .column = 0, .message = error.diagnostics().front().message});
    }
  }
  return found;
}

}  // namespace tessera
