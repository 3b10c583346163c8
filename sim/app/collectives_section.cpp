#include "sim/app/collectives_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/app/scenario_checks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/config/reader.hpp"

namespace tessera {

namespace {

constexpr std::array kGroups{Dimension::tp, Dimension::dp, Dimension::cp, Dimension::ep, Dimension::edp};

Dimension dimension_named(std::string_view name) {
  for (const Dimension dimension : kGroups)
    if (to_string(dimension) == name) return dimension;
  return Dimension::next;  // a message: no group
}

}  // namespace

void describe(Reader& r, OwnCollectiveSection& s) {
  r.required("over", s.over, "groups that do it so: tp, dp, cp, ep, edp");
  r.required("schedule", s.schedule, "a file of transfers (scenarios/collectives/README.md): a path");
  if (r.has("over") && dimension_named(s.over) == Dimension::next) {
    std::vector<std::string> names;
    for (const Dimension dimension : kGroups) names.emplace_back(to_string(dimension));
    r.error("over", fmt::format("found '{}'{}; expected one of {}", s.over, did_you_mean(s.over, names),
                                fmt::join(names, ", ")));
  }
  if (r.has("schedule")) look_up(r, "schedule", [&] { (void)read_collective_schedule(s.schedule); });
}

void describe(Reader& r, CollectivesSection& s) {
  r.optional("take_sms", s.take_sms, "collectives take SMs and device memory's bandwidth from kernels beside them");
  r.optional("own", s.own, "by schedules of your own, instead of NCCL's ways");
  if (!r.ok() || r.printing()) return;
  std::set<std::pair<Dimension, CollectiveKind>> known;
  for (const OwnCollective& own : own_collectives(s))
    if (!known.insert({own.over, own.schedule.kind}).second)
      r.error("own", fmt::format("two schedules of {} over {}", to_string(own.schedule.kind), to_string(own.over)));
}

std::vector<OwnCollective> own_collectives(const CollectivesSection& section) {
  std::vector<OwnCollective> own;
  for (const OwnCollectiveSection& one : section.own)
    own.push_back({dimension_named(one.over), read_collective_schedule(one.schedule)});
  return own;
}

std::vector<std::string> group_mistakes(const std::vector<OwnCollective>& own, const ParallelSpec& parallel) {
  Plan plan;
  plan.spec = parallel;
  std::vector<std::string> mistakes;
  for (const OwnCollective& one : own) {
    const std::size_t ranks = plan.group(Rank{0}, one.over).size();
    if (ranks != static_cast<std::size_t>(one.schedule.ranks))
      mistakes.push_back(fmt::format("schedule '{}' is of {} ranks, a group of {} has {}", one.schedule.name,
                                     one.schedule.ranks, to_string(one.over), ranks));
  }
  return mistakes;
}

void check_own_collectives(const std::vector<OwnCollective>& own, const Plan& plan) {
  if (const auto mistakes = group_mistakes(own, plan.spec); !mistakes.empty()) throw RunError(mistakes.front());
  for (const OwnCollective& one : own) {
    const bool used = std::ranges::any_of(plan.tasks, [&](const Task& task) {
      const auto* collective = std::get_if<Collective>(&task.work);
      return collective != nullptr && collective->over == one.over && collective->kind == one.schedule.kind;
    });
    if (!used)
      throw RunError(fmt::format("schedule '{}': the run has no {} over {}", one.schedule.name,
                                 to_string(one.schedule.kind), to_string(one.over)));
  }
}

}  // namespace tessera
