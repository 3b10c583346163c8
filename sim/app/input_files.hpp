// Files of measurements that a verb reads, checked before the work.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace tessera {

/// InputError at `flag` where a file is given twice: its rows would count twice.
void require_different(std::span<const std::filesystem::path> files, std::string_view flag);

}  // namespace tessera
