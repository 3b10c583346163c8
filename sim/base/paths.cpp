#include "sim/base/paths.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "sim/base/error.hpp"

namespace tessera {

std::filesystem::path home() {
  const char* set = std::getenv("TESSERA_HOME");
  std::filesystem::path folder = set != nullptr && *set != '\0' ? set : TESSERA_SOURCE_DIR;
  std::error_code ignored;
  if (std::filesystem::is_directory(folder / "platforms", ignored)) return folder;
  throw InputError(
      Diagnostic{.file = "TESSERA_HOME",
                 .message = fmt::format("no folder platforms/ in '{}'; expected the folder that holds platforms/, "
                                        "scenarios/ and calibration/",
                                        folder.string())});
}

}  // namespace tessera
