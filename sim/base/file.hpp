// Files written beside and renamed, so that an interrupted run leaves no half file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera {

/// Whole file as bytes. Throws InputError naming the file when it is missing, a folder or unreadable.
std::string read_file(const std::filesystem::path& path);

/// Writes `content` to a temporary file in the same folder (made if missing) and renames it onto `path`.
/// Throws RunError when the folder cannot be written.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace tessera
