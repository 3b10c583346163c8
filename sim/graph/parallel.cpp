#include "sim/graph/parallel.hpp"

#include <algorithm>
#include <numeric>

namespace tessera {

int ParallelSpec::first_program(int stage) const {
  if (stage_replicas.empty()) return stage;
  const auto before = std::min(static_cast<std::size_t>(stage), stage_replicas.size());
  return std::accumulate(stage_replicas.begin(), stage_replicas.begin() + static_cast<std::ptrdiff_t>(before), 0);
}

int ParallelSpec::stage_of(int program) const {
  int stage = 0;
  while (first_program(stage + 1) <= program) ++stage;
  return stage;
}

}  // namespace tessera
