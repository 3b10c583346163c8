// The CPU thread that feeds a GPU: one launch after the other, ahead of the device.
#pragma once

#include "sim/base/units.hpp"

namespace tessera {

/// A task can start when its launch has been issued; the GPU idles only where the host cannot keep up.
/// Not modelled: the host waiting for the device (full launch queue, synchronisation, reading results back).
class Host {
 public:
  /// `launch` 0: a CUDA graph, everything is there from the start.
  explicit Host(Seconds launch) : launch_(launch) {}
  /// When the `index`-th launch of the program, from 0, has been issued.
  [[nodiscard]] Seconds launched(std::size_t index) const { return launch_ * static_cast<double>(index + 1); }

 private:
  Seconds launch_;
};

}  // namespace tessera
