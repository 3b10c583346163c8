// The chips that no other beats in score at no more cost.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sim/place/search/certified_search.hpp"

namespace tessera {

struct ParetoPoint {
  std::size_t candidate = 0;
  double cost = 0, score = 0;
};

/// The whole front of `task` over `costs`, cheapest first; cheaper candidates are solved first, and those whose bound
/// is no better than what costs less are left out, so that the front is that of all candidates. `stop`: what is known
/// so far.
std::vector<ParetoPoint> pareto_front(const SearchTask& task, std::span<const double> costs,
                                      std::span<const double> bounds, const SearchOptions& options);

}  // namespace tessera
