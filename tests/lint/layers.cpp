#include "tests/lint/layers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace tessera::lint {

namespace {

struct Layer {
  std::string_view folder;
  int rank;  // includes lower ranks only; layers of one rank do not include each other
};
constexpr std::array kLayers{
    Layer{"sim/base/", 0},     Layer{"sim/config/", 1}, Layer{"sim/graph/", 2},   Layer{"sim/cluster/", 2},
    Layer{"sim/trace/", 2},    Layer{"models/", 3},     Layer{"calibration/", 4}, Layer{"sim/place/", 5},
    Layer{"sim/dispatch/", 5}, Layer{"sim/serve/", 5},  Layer{"sim/des/", 6},     Layer{"sim/report/", 7},
    Layer{"sim/app/", 8},
};

struct Library {
  std::string_view prefix;
  std::string_view layers;  // the only ones that may see it; "*" for all
};
constexpr std::array kLibraries{
    Library{"fmt/", "*"},
    Library{"sys/", "*"},
    Library{"yaml-cpp/", "sim/config/"},
    Library{"nlohmann/", "sim/config/"},
    Library{"zlib.h", "sim/config/"},
    Library{"Eigen/", "models/ calibration/"},
    Library{"benchmark/", "calibration/"},
    Library{"cuda", "calibration/"},
    Library{"coin/", "sim/place/"},
    Library{"glpk.h", "sim/place/"},
    Library{"metis.h", "sim/place/"},
    Library{"simgrid/", "sim/des/"},
    Library{"xbt", "sim/des/"},
    Library{"CLI/", "sim/app/"},
};

const Layer* layer_of(std::string_view path) {
  const auto found =
      std::find_if(kLayers.begin(), kLayers.end(), [&](const Layer& layer) { return path.starts_with(layer.folder); });
  return found == kLayers.end() ? nullptr : &*found;
}

struct Includes {
  std::vector<std::string> project, foreign;
};

Includes includes_of(const std::string& text) {
  Includes result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const std::size_t open = line.find_first_of("\"<", word);
    if (open == std::string::npos) continue;
    const std::size_t close = line.find_first_of("\">", open + 1);
    (line[open] == '"' ? result.project : result.foreign).push_back(line.substr(open + 1, close - open - 1));
  }
  return result;
}

std::optional<std::string> project_violation(const Layer& layer, const std::string& included, const SourceTree& tree) {
  const Layer* const other = layer_of(included);
  if (!tree.contains(included)) return "includes \"" + included + "\", which is no file, by path from the root";
  if (other == nullptr) return "includes \"" + included + "\", which is in no layer";
  if (other != &layer && other->rank >= layer.rank) {
    return "includes \"" + included + "\", but " + std::string(other->folder) + " is not below " +
           std::string(layer.folder);
  }
  return std::nullopt;
}

std::optional<std::string> foreign_violation(const Layer& layer, const std::string& included) {
  const auto library = std::find_if(kLibraries.begin(), kLibraries.end(),
                                    [&](const Library& known) { return included.starts_with(known.prefix); });
  if (library == kLibraries.end()) {
    if (included.find('/') == std::string::npos) return std::nullopt;  // the standard library, POSIX
    return "includes <" + included + ">, which no layer may";
  }
  if (library->layers == "*" || library->layers.find(layer.folder) != std::string_view::npos) return std::nullopt;
  return "sees <" + included + ">, which only " + std::string(library->layers) + " may";
}

/// Foreign headers that a file sees, its own and those of its project headers.
void collect_foreign(const std::string& path, const SourceTree& tree, std::set<std::string>& seen,
                     std::set<std::string>& foreign) {
  const auto file = tree.find(path);
  if (file == tree.end() || !seen.insert(path).second) return;
  const Includes includes = includes_of(file->second);
  foreign.insert(includes.foreign.begin(), includes.foreign.end());
  for (const std::string& next : includes.project) collect_foreign(next, tree, seen, foreign);
}

}  // namespace

std::vector<std::string> layer_violations(const SourceTree& tree) {
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    const Layer* const layer = layer_of(path);
    if (layer == nullptr || !is_code(path)) continue;
    const auto report = [&, &file = path](const std::optional<std::string>& violation) {
      if (violation) violations.push_back(file + ": " + *violation);
    };
    for (const std::string& included : includes_of(text).project) report(project_violation(*layer, included, tree));
    std::set<std::string> seen, foreign;
    collect_foreign(path, tree, seen, foreign);
    for (const std::string& included : foreign) report(foreign_violation(*layer, included));
  }
  return violations;
}

}  // namespace tessera::lint
