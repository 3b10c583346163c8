// What a scenario says about collectives: the user's own schedules, and what collectives take from kernels.
#pragma once

#include <string>
#include <vector>

#include "models/collectives/schedule.hpp"
#include "sim/graph/parallel.hpp"

namespace tessera {

class Reader;

/// All collectives of the schedule's kind over a dimension.
struct OwnCollectiveSection {
  std::string over, schedule;
};
struct CollectivesSection {
  bool take_sms = false;
  std::vector<OwnCollectiveSection> own{};
};
void describe(Reader& r, OwnCollectiveSection& s);
void describe(Reader& r, CollectivesSection& s);

std::vector<OwnCollective> own_collectives(const CollectivesSection& section);
/// Groups that have another size than their schedule.
std::vector<std::string> group_mistakes(const std::vector<OwnCollective>& own, const ParallelSpec& parallel);
/// RunError where a schedule does not fit its group, or nothing in the plan would be done by it.
void check_own_collectives(const std::vector<OwnCollective>& own, const Plan& plan);

}  // namespace tessera
