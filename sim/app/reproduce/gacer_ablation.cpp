// What each part of GACER is worth: space, time, pointers, pieces.
#include <fmt/format.h>

#include "sim/app/reproduce/gacer.hpp"
#include "sim/dispatch/gacer.hpp"

namespace tessera {

namespace {

PolicyContender variant(std::string name, GacerOptions options) {
  return {std::move(name), [options] { return make_gacer_with(options); }};
}

std::vector<PolicyContender> parts() {
  GacerOptions space, time, both, again, widths;
  space.temporal = false;
  time.spatial = false;
  again.restarts = 4;
  widths.evaluator = GacerOptions::Evaluator::packing;
  return {contender("streams"),
          variant("space", space),
          variant("time", time),
          variant("space and time", both),
          variant("with 4 restarts", again),
          variant("searched by widths", widths)};
}

std::vector<PolicyContender> pointer_counts() {
  std::vector<PolicyContender> all;
  for (int count = 0; count <= 8; ++count) {
    GacerOptions options;
    options.spatial = false;
    options.fixed_pointers = count;
    all.push_back(variant(fmt::format("{}", count), options));
  }
  return all;
}

std::vector<PolicyContender> piece_counts() {
  struct Counts {
    const char* name;
    std::vector<std::uint32_t> pieces;
  };
  std::vector<PolicyContender> all;
  for (const Counts& counts : {Counts{"2", {2}}, Counts{"4", {2, 4}}, Counts{"8", {2, 4, 8}},
                               Counts{"4 or unequal", {2, 4, kQuarterFirst, kQuarterLast}}}) {
    for (const double concat : {1.0, 0.0}) {
      GacerOptions options;
      options.temporal = false;
      options.piece_counts = counts.pieces;
      options.concat_cost = concat;
      all.push_back(variant(fmt::format("{}{}", counts.name, concat > 0 ? "" : ", free copies"), options));
    }
  }
  return all;
}

std::vector<AblationRow> speedups_of(std::span<const TenantGroup> groups, const std::vector<PolicyContender>& variants,
                                     const std::function<void(std::string_view)>& progress) {
  std::vector<AblationRow> rows;
  for (const TenantGroup& group : groups) {
    progress(fmt::format("ablations: {}", group.name));
    const Seconds sequential = run_group(group, contender("sequential")).makespan;
    AblationRow row{group.name, {}};
    for (const PolicyContender& one : variants) row.speedups.push_back(sequential / run_group(group, one).makespan);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

/// IOS (MLSys 2021) runs an operator of every branch side by side, stage by stage, with a barrier after each stage. Its
/// branches are the tenants here: as many stages, found by coordinate descent, with a barrier on the device (assumed).
PolicyContender ios_like() {
  GacerOptions stages;
  stages.spatial = false;
  stages.fixed_pointers = 32;
  stages.pointer_cost = Seconds(5e-6);
  stages.budget /= 4;
  return variant("IOS-like", stages);
}

std::vector<PolicyContender> quick_contenders() {
  GacerOptions small;
  small.budget /= 10;
  std::vector<PolicyContender> all;
  for (const char* name :
       {"sequential", "streams", "streams+priority", "mps", "mig", "orion", "tally", "abacus", "cpp"})
    all.push_back(contender(name));
  all.push_back(ios_like());
  all.push_back(variant("gacer", small));
  return all;
}

void run_ablations(GacerResults& r, std::span<const TenantGroup> groups,
                   const std::function<void(std::string_view)>& progress) {
  r.parts = parts();
  r.pointers = pointer_counts();
  r.pieces = piece_counts();
  r.by_part = speedups_of(groups, r.parts, progress);
  r.by_pointers = speedups_of(groups, r.pointers, progress);
  r.by_pieces = speedups_of(groups, r.pieces, progress);
}

}  // namespace tessera
