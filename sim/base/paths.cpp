#include "sim/base/paths.hpp"

#include <cstdlib>

namespace tessera {

std::filesystem::path home() {
  const char* set = std::getenv("TESSERA_HOME");
  return set != nullptr && *set != '\0' ? set : TESSERA_SOURCE_DIR;
}

}  // namespace tessera
