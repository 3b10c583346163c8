// gzip in memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera {

std::string gzip(std::string_view data);
/// File content, unpacked where it starts with the gzip magic. Throws InputError on a damaged archive.
std::string read_maybe_gzip(const std::filesystem::path& path);

}  // namespace tessera
