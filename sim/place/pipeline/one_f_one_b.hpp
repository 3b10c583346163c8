// The 1F1B schedule pass by pass: what the closed form of a plan's time stands for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

/// One pass of one micro-batch through one chunk of layers.
struct Pass {
  std::int64_t micro_batch = 0;
  int chunk = 0;  // of the device's
  bool forward = true;
};

/// The passes of device `device` of `devices` in the order in which it runs them: forwards until the pipeline is full,
/// then one forward and one backward in turn (PipeDream, arXiv 1806.03377), with several chunks per device in
/// Megatron-LM's interleaved order (Narayanan et al., arXiv 2104.04473, section 2.2), for which `devices` divides
/// `micro_batches`.
std::vector<Pass> one_f_one_b_order(int device, int devices, int chunks, std::int64_t micro_batches);

struct PassTimes {
  Seconds forward, backward;
};
/// Makespan of all passes: a device runs its passes in order, each as soon as its input is there. `stages`: one per
/// device and chunk, in pipeline order. Transfers are part of the passes that wait for them.
Seconds one_f_one_b_time(std::span<const PassTimes> stages, int chunks, std::int64_t micro_batches);

}  // namespace tessera
