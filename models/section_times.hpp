// Times of a model's embedding, blocks and head that come from elsewhere: a chip's own schedules, or a measurement.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/kernel_cost.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

class Reader;

/// Of one micro-batch on one device of a tensor-parallel group, the group's sums left out. Energy with what the device
/// draws anyway; 0: as the kernels' own.
struct SectionTime {
  Seconds forward, backward;
  Joules forward_energy{}, backward_energy{};
};

void describe(Reader& r, SectionTime& s);

struct SectionTimes {
  SectionTimes() = default;  // no aggregate: g++ 12 warns of uninitialized members in T{} otherwise
  std::string model;
  std::int64_t micro_batch = 1, sequence = 1;
  int tp = 1;
  SectionTime embedding, block, head;
  std::vector<int> recomputed_stages{};  // whose blocks' backward computes their forward again
  std::string source;
};
void describe(Reader& r, SectionTimes& s);

SectionTimes read_section_times(const std::filesystem::path& path);
std::string to_yaml(const SectionTimes& times);

/// Stretches the costs of the plan's kernels so that each section takes its time: within a section and pass kernels
/// keep their proportions, time and energy alike (energy as given, where it is). A kernel that several sections run
/// becomes several. The optimizer's kernels stay as they are. RunError where a section has a time, but no kernels, or
/// where a stage recomputes that is none. Not modelled: operators that overlap inside a section (its time has that
/// already).
void apply(const SectionTimes& times, Plan& plan, CostTable& costs);

}  // namespace tessera
