// Files written beside and renamed, so that an interrupted run leaves no half file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera {

/// Whole file as bytes. Throws InputError naming the file when it is missing, a folder or unreadable, or when a pipe or
/// device gives more than 256 MiB.
std::string read_file(const std::filesystem::path& path);

/// Writes `content` to a temporary file in the same folder (made if missing) and renames it onto `path`,
/// or onto what `path` links to. A pipe or device is written into instead.
/// Throws RunError when the folder cannot be written.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace tessera
