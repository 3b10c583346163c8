// The CPU thread that feeds a GPU: one launch after the other, ahead of the device.
#pragma once

#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

/// A task can start when its launch has been issued; the GPU idles only where the host cannot keep up.
/// Not modelled: the host waiting for the device (full launch queue, synchronisation, reading results back).
class Host {
 public:
  /// `launch` 0: a CUDA graph, everything is there from the start. `work`: what else the host does before each launch;
  /// empty: nothing.
  explicit Host(Seconds launch, std::span<const Seconds> work = {}) : launch_(launch) {
    Seconds sum;
    for (const Seconds before : work) work_.push_back(sum += before);
  }
  /// When the `index`-th launch has been issued, of a program that begins with launch `first`.
  [[nodiscard]] Seconds launched(std::size_t index, std::size_t first = 0) const {
    const Seconds launches = launch_ * static_cast<double>(index - first + 1);
    if (work_.empty()) return launches;
    return launches + work_[index] - (first > 0 ? work_[first - 1] : Seconds());
  }

 private:
  Seconds launch_;
  std::vector<Seconds> work_;  // up to and including each launch
};

}  // namespace tessera
