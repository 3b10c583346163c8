// The 1F1B schedule pass by pass: what the closed form of a plan's time stands for.
#pragma once

#include <cstdint>
#include <span>

#include "sim/base/units.hpp"
#include "sim/graph/pipeline.hpp"

namespace tessera {

struct PassTimes {
  Seconds forward, backward;
};
/// Makespan of all passes: a device runs its passes in order, each as soon as its input is there. `stages`: one per
/// device and chunk, in pipeline order. Transfers are part of the passes that wait for them.
Seconds one_f_one_b_time(std::span<const PassTimes> stages, int chunks, std::int64_t micro_batches);

}  // namespace tessera
