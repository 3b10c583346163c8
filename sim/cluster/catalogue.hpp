// The named descriptions under platforms/.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Names (file names without .yaml) of the descriptions in platforms/<kind>, sorted.
std::vector<std::string> catalogue(std::string_view kind);

/// Empty where `name` is a path or a name in platforms/<kind> for one of `kinds`, else what is wrong with it, with the
/// nearest name; `what` says what was looked for.
std::string name_mistake(std::string_view name, const std::vector<std::string_view>& kinds, std::string_view what);

/// The file that `name` means: a path where it ends in .yaml (from `beside`'s folder where it is there, else from the
/// current one), else a name in platforms/<kind> for one of `kinds`, case and punctuation ignored. Throws InputError
/// with `name_mistake`.
std::filesystem::path find_description(std::string_view name, const std::vector<std::string_view>& kinds,
                                       std::string_view what, const std::filesystem::path& beside = {});

}  // namespace tessera
