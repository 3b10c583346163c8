#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "sim/app/reproduce/phaze.hpp"
#include "sim/app/search/search_report.hpp"

namespace tessera {
namespace {

void row(std::string& out, std::string_view model, std::string_view what, const PhazeReplay& r,
         const PhazeReplay& base) {
  const Replay& seen = r.replay;
  const std::string plan = r.result.feasible ? plan_text(r.result.plan) : "-";
  if (!seen.ran) {
    fmt::format_to(std::back_inserter(out), "| {} | {} | {} | {} | - | {} | - | - | {} |\n", model, what,
                   describe(r.chip), plan, r.result.feasible ? fmt::format("{:.4g}", r.result.samples_per_second) : "-",
                   seen.why);
    return;
  }
  const std::string over = base.replay.ran ? fmt::format("{:.2f}", seen.seen_rate / base.replay.seen_rate) : "-";
  fmt::format_to(std::back_inserter(out), "| {} | {} | {} | {} | {} | {:.4g} | {:.4g} | {} | {} |\n", model, what,
                 describe(r.chip), plan, r.rank, seen.expected_rate, seen.seen_rate, over, seen.difference());
}

/// Over the models where both ran; 0: none.
class Mean {
 public:
  void add(const PhazeReplay& ours, const PhazeReplay& theirs) {
    if (!ours.replay.ran || !theirs.replay.ran) return;
    const double ratio = ours.replay.seen_rate / theirs.replay.seen_rate;
    sum_ += std::log(ratio);
    least_ = count_ == 0 ? ratio : std::min(least_, ratio);
    ++count_;
  }
  [[nodiscard]] std::string text() const {
    if (count_ == 0) return "nothing to compare";
    return fmt::format("{:.2f} on the geometric mean of {} models, {:.2f} at least", std::exp(sum_ / count_), count_,
                       least_);
  }

 private:
  double sum_ = 0, least_ = 0;
  int count_ = 0;
};

}  // namespace

std::string phaze_replay_section(const std::vector<PhazeReplayRow>& rows) {
  std::string out =
      "\n## Both systems' plans in the event loop\n\nWhat the original decides, by its own costs (the public fork's) "
      "and "
      "its stop rule, and what the corrected search decides, all priced by the corrected operator schedules and "
      "simulated: passes, messages and gradient sums on the links of 1,024 chips with four HBM stacks (fewer where the "
      "die's edges hold no more), each run in its own process. Plans are held to what the event loop runs: one tensor "
      "width; plain, interleaved, or with replicas of stages. Ours is the fastest in simulation of our six best by the "
      "analytical "
      "cost; \"#\" is its place among them. Expected is the analytical cost; the last column says where the simulation "
      "differs, in "
      "per cent of the expected step. Samples/s:\n\n"
      "| model | chip and plan of | chip | plan | # | expected | simulated | over Phaze's | where they differ "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  Mean both, plan_there, plan_here;
  for (const PhazeReplayRow& r : rows) {
    row(out, r.model, "Phaze, Phaze", r.original, r.original);
    row(out, "", "Phaze, ours", r.original_chip, r.original);
    row(out, "", "ours, ours", r.ours, r.original);
    row(out, "", "TPUv4-like, Phaze", r.reference, r.reference);
    row(out, "", "TPUv4-like, ours", r.reference_chip, r.reference);
    both.add(r.ours, r.original);
    plan_there.add(r.original_chip, r.original);
    plan_here.add(r.reference_chip, r.reference);
  }
  return out + fmt::format(
                   "\nSimulated, ours over Phaze's: {}. The plan alone: on Phaze's chips {}; on the TPUv4-like chip "
                   "{}.\n",
                   both.text(), plan_there.text(), plan_here.text());
}

}  // namespace tessera
