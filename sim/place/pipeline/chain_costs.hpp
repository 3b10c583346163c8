// Every contiguous stage of a chain at one width, as the original's dynamic programme needs it, in O(layers^2).
#pragma once

#include <cstddef>
#include <vector>

#include "sim/place/pipeline/problem.hpp"
#include "sim/place/pipeline/segment.hpp"

namespace tessera {

class ChainCosts {
 public:
  ChainCosts(const WidthProfile& profile, const LayerEdges& edges, const PipelineProblem& problem);

  /// Of layers first..end-1.
  struct Stage {
    Seconds last_load,
        inner_load;   // as the pipeline's last stage, and before others (recomputing where the problem does)
    Seconds compute;  // a lower bound of both that grows with `end`
    Bytes parameters, constant, stash;
    int devices = 1;
  };
  [[nodiscard]] const Stage& stage(int first, int end) const { return stages_[index(first, end)]; }
  [[nodiscard]] int layers() const { return layers_; }
  /// With `from_end` stages from this one to the end, itself included.
  [[nodiscard]] static Bytes memory(const Stage& stage, int from_end) {
    return stage.constant + static_cast<double>(from_end - 1) * stage.stash;
  }
  [[nodiscard]] static Seconds load(const Stage& stage, int from_end) {
    return from_end > 1 ? stage.inner_load : stage.last_load;
  }

 private:
  [[nodiscard]] std::size_t index(int first, int end) const {
    return static_cast<std::size_t>(first) * static_cast<std::size_t>(layers_ + 1) + static_cast<std::size_t>(end);
  }
  void sums(const WidthProfile& profile, const LayerEdges& edges, const PipelineProblem& problem);
  void backwards(const WidthProfile& profile, const LayerEdges& edges, const PipelineProblem& problem);

  int layers_;
  std::vector<Stage> stages_;
};

}  // namespace tessera
