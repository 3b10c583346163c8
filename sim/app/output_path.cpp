#include "sim/app/output_path.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace tessera {

void require_output_folder(const std::filesystem::path& path) {
  if (std::filesystem::exists(path) && !std::filesystem::is_directory(path))
    throw InputError(Diagnostic{"--out", 0, 0, fmt::format("expected a folder, {} is a file", path.string())});
}

void require_output_file(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw InputError(Diagnostic{"--out", 0, 0, fmt::format("expected a file, {} is a folder", path.string())});
}

}  // namespace tessera
