// Where a verb is told to write: checked before the work, not after it.
#pragma once

#include <filesystem>

namespace tessera {

/// InputError naming --out where something else than a folder is there already.
void require_output_folder(const std::filesystem::path& path);
/// InputError naming --out where a folder is there already.
void require_output_file(const std::filesystem::path& path);

}  // namespace tessera
