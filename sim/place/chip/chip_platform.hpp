// A systolic chip and the system around it as the cluster that the event loop runs.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/place/chip/systolic.hpp"
#include "sim/place/pipeline/problem.hpp"

namespace tessera {

/// A tensor core stands for an SM; peaks are those of all cores together. The power cap is the one of which the latency
/// models' share of idle power is the chip's own (`idle_power`).
/// Kernels take what the chip's own schedules say (SectionTimes): of these figures only memory and its bandwidth, and
/// for the optimizer's kernels the vector lanes, matter to a replay.
GpuSpec to_spec(const SystolicChip& chip, Bytes memory);

/// `devices` chips: nodes of the innermost level where there are two, one chip a node where there is one, joined by
/// switches that never limit. In words, why there is no such cluster: three levels or more, or devices that do not fill
/// nodes. A level's latency is split between both ends.
std::variant<ClusterSpec, std::string> chip_cluster(const GpuSpec& chip, int devices,
                                                    std::span<const NetworkLevel> network);

}  // namespace tessera
