#include "sim/graph/graph.hpp"

#include <algorithm>
#include <array>

namespace tessera {

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, 4> kNames{"forward", "backward", "accumulate", "optimizer"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::uint32_t Graph::intern(std::string_view name) {
  // A model has a few dozen names, so a scan is as fast as a table.
  const auto found = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<std::uint32_t>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  return index;
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Parameter& parameter : graph.parameters) count += parameter.elements;
  return count;
}

}  // namespace tessera
