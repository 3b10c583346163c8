#include "sim/place/schedule/backward.hpp"

#include "sim/base/error.hpp"

namespace tessera {

BackwardGraph backward_graph(const OperatorGraph& forward, const std::vector<bool>& has_weights) {
  TESSERA_ASSERT(has_weights.size() == forward.core.size(), "one flag per operator");
  BackwardGraph backward{.graph = {.core = forward.core, .edges = {}},
                         .weight_gradient_of = std::vector<int>(forward.core.size(), -1)};
  for (const auto& [before, after] : forward.edges) backward.graph.edges.push_back({after, before});
  for (std::size_t i = 0; i < has_weights.size(); ++i) {
    if (!has_weights[i]) continue;
    const int gradient = static_cast<int>(backward.graph.core.size());
    backward.graph.core.push_back(CoreClass::tensor);
    backward.weight_gradient_of.push_back(static_cast<int>(i));
    for (const auto& [before, after] : forward.edges) {
      if (static_cast<std::size_t>(before) == i) backward.graph.edges.push_back({after, gradient});
    }
  }
  return backward;
}

}  // namespace tessera
