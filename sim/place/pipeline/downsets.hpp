// The sets of layers that can be left for later stages: closed under the edges, so that a stage is the difference of
// two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/place/pipeline/problem.hpp"

namespace tessera {

/// Numbered by size: 0 is empty, the last holds all layers. A chain of n layers has n + 1.
class Downsets {
 public:
  /// Nothing if there are more than `most` (layers with many independent branches).
  static std::optional<Downsets> of(const PipelineProblem& problem, std::size_t most);

  [[nodiscard]] std::size_t size() const { return sets_.size(); }
  [[nodiscard]] bool inside(std::size_t small, std::size_t large) const;
  /// Layers of `large` that `small` has not, ascending.
  [[nodiscard]] std::vector<int> between(std::size_t small, std::size_t large) const;

 private:
  using Set = std::vector<std::uint64_t>;
  std::vector<Set> sets_;
};

}  // namespace tessera
