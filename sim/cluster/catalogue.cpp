#include "sim/cluster/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace {

std::filesystem::path folder(std::string_view kind) {
  return home() / "platforms" / kind;
}

std::filesystem::path beside_or_here(const std::filesystem::path& path, const std::filesystem::path& beside) {
  const std::filesystem::path near = beside.parent_path() / path;
  return !beside.empty() && std::filesystem::exists(near) ? near : path;
}

bool is_path(std::string_view name) {
  return name.ends_with(".yaml");
}

std::optional<std::filesystem::path> find_named(std::string_view name, const std::vector<std::string_view>& kinds) {
  const std::string wanted = normalise(name);
  for (const std::string_view kind : kinds) {
    for (const std::string& candidate : catalogue(kind)) {
      if (normalise(candidate) == wanted) return folder(kind) / (candidate + ".yaml");
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> catalogue(std::string_view kind) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder(kind), missing)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string name_mistake(std::string_view name, const std::vector<std::string_view>& kinds, std::string_view what) {
  if (is_path(name) || find_named(name, kinds)) return "";
  std::vector<std::string> candidates;
  for (const std::string_view kind : kinds) {
    for (std::string& candidate : catalogue(kind)) candidates.push_back(std::move(candidate));
  }
  std::string hint = did_you_mean(name, candidates);
  if (candidates.empty()) hint = "; there are none yet, give a path that ends in .yaml";
  if (hint.empty()) hint = fmt::format("; known are {}", fmt::join(candidates, ", "));
  return fmt::format("no {} named '{}'{}", what, name, hint);
}

std::filesystem::path find_description(std::string_view name, const std::vector<std::string_view>& kinds,
                                       std::string_view what, const std::filesystem::path& beside) {
  if (is_path(name)) return beside_or_here(name, beside);
  if (const auto found = find_named(name, kinds)) return *found;
  throw InputError(Diagnostic{.file = "", .message = name_mistake(name, kinds, what)});
}

}  // namespace tessera
