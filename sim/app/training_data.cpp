#include "sim/app/training_data.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "sim/base/error.hpp"

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

}  // namespace tessera
