#include "sim/app/search/search_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/report/scatter_chart.hpp"

namespace tessera {
namespace {

/// Nobody has measured such chips: what stands for an error bar.
constexpr std::string_view kProvenance =
    "No chip of this template was measured, so there are no error bars: samples/s are operator schedules on the "
    "template (of 704 recorded mappings 98.6 % within 10 % of the original's mapper); W is the mean of a device over a "
    "step, 0.15 W/mm2 idle (TPUv4, unverified) and energies of the public log above; USD is a wafer of 3,677 (CSET "
    "2020), HBM at 15 USD/GB (assumed): for ranking.\n";

std::string_view unit_of(Objective objective) {
  switch (objective) {
    case Objective::throughput:
      return "samples/s";
    case Objective::per_area:
      return "samples/s/mm2";
    case Objective::per_watt:
      return "samples/J";
    case Objective::per_cost:
      return "samples/s/USD";
  }
  return "";
}

/// Several workloads count relative to the reference chip.
std::string unit_of(const SearchScenario& scenario) {
  return scenario.workloads.size() == 1 ? std::string(unit_of(scenario.objective))
                                        : fmt::format("{} relative to TPUv4-like", unit_of(scenario.objective));
}

std::string widths_text(const PipelinePlan& plan) {
  const auto [least, most] = std::ranges::minmax(plan.stages, {}, &PipelineStage::width);
  return least.width == most.width ? std::to_string(least.width) : fmt::format("{}-{}", least.width, most.width);
}

Json plan_json(const PipelinePlan& plan) {
  Json stages = Json::array();
  for (const PipelineStage& stage : plan.stages) {
    Json layers = Json::array();
    for (const int layer : stage.layers) layers.push(layer);
    stages.push(Json(Json::Object{{"layers", std::move(layers)},
                                  {"width", stage.width},
                                  {"replicas", stage.replicas},
                                  {"recompute", stage.recompute}}));
  }
  return Json(Json::Object{{"replicas", plan.replicas}, {"chunks", plan.chunks}, {"stages", std::move(stages)}});
}

Json chip_json(const StudiedChip& studied, const SearchScenario& scenario) {
  const SystolicChip& chip = studied.chip;
  Json json(Json::Object{{"chip", describe(chip)},
                         {"tensor_cores", chip.tensor_cores},
                         {"vector_cores", chip.vector_cores},
                         {"width", chip.width},
                         {"depth", chip.depth},
                         {"buffer_bytes", chip.buffer.value()},
                         {"hbm_stacks", chip.hbm_stacks},
                         {"area_mm2", studied.die.value()},
                         {"price_usd", studied.price.value()},
                         {"score", std::isfinite(studied.score) ? Json(studied.score) : Json()}});
  Json workloads = Json::array();
  for (std::size_t w = 0; w < studied.workloads.size(); ++w) {
    const ChipResult& result = studied.workloads[w].result;
    Json workload(Json::Object{{"model", scenario.workloads[w].model},
                               {"micro_batch", scenario.workloads[w].micro_batches[studied.workloads[w].choice]},
                               {"feasible", result.feasible}});
    if (result.feasible) {
      workload["samples_per_second"] = result.samples_per_second;
      workload["step_s"] = result.step.value();
      workload["power_w"] = result.power.value();
      workload["energy_per_sample_j"] = result.energy.value() / static_cast<double>(scenario.system.batch);
      workload["schedule_gap"] = result.gap;
      workload["plan"] = plan_json(result.plan);
    } else {
      workload["why"] = result.why;
    }
    workloads.push(std::move(workload));
  }
  json["workloads"] = std::move(workloads);
  return json;
}

void row(std::string& out, std::string_view name, const StudiedChip& studied) {
  for (const auto& workload : studied.workloads) {
    const ChipResult& r = workload.result;
    fmt::format_to(std::back_inserter(out), "{:<4}{:<34} {:>7.1f} {:>7.0f} {:>10.4g} {:>10.4g} {:>6.0f}  {}\n", name,
                   describe(studied.chip), studied.die.value(), studied.price.value(), studied.score,
                   r.samples_per_second, r.power.value(), r.feasible ? plan_text(r.plan) : r.why);
    name = "";
  }
}

std::string certificate_text(const SearchScenario& scenario, const Certificate& proof) {
  if (!proof.complete)
    return fmt::format("{} chips: {} solved, {} excluded so far. Not finished: run the same command to go on.\n",
                       proof.candidates, proof.solved, proof.excluded);
  const std::string text =
      fmt::format("{} chips: {} solved, {} excluded by the placement of their bounds, {} by bounds alone",
                  proof.candidates, proof.solved, proof.excluded, proof.candidates - proof.solved - proof.excluded);
  const double gap = proof.next_bound / proof.score - 1;
  const std::string plans = fmt::format(
      ". The proof is about plans of one width and recomputation (the table's are refined), where the best gives "
      "{:.4g} {}: ",
      proof.score, unit_of(scenario));
  if (gap <= 0) return text + plans + "proven to be the best of all.\n";
  return text + plans +
         fmt::format(
             "no chip gives more than {:.4g}, {:.1f} % above; {} may be better, because their operator schedules are "
             "not proven.\n",
             proof.next_bound, 100 * gap, proof.open);
}

Json parts_json(const StepParts& parts) {
  return Json(Json::Object{
      {"compute_s", parts.compute.value()}, {"transfers_s", parts.transfers.value()}, {"idle_s", parts.idle.value()}});
}

Json replay_json(const PlanReplay& tried) {
  const Replay& replay = tried.replay;
  Json json(Json::Object{{"rank", tried.rank}, {"plan", plan_json(tried.result.plan)}, {"ran", replay.ran}});
  if (!replay.ran) {
    json["why"] = replay.why;
    return json;
  }
  json["expected_samples_per_second"] = replay.expected_rate;
  json["simulated_samples_per_second"] = replay.seen_rate;
  json["expected"] = parts_json(replay.expected);
  json["simulated"] = parts_json(replay.seen);
  json["optimizer_s"] = replay.optimizer.value();
  json["expected_power_w"] = tried.result.power.value();
  json["simulated_power_w"] = replay.power.value();
  json["difference"] = replay.difference();
  return json;
}

Json replayed_json(const ReplayedChip& replayed) {
  Json workloads = Json::array();
  for (const auto& plans : replayed.plans) {
    Json workload = plans.empty() ? Json(Json::Object{{"ran", false}}) : replay_json(plans.front());
    workload["plans"] = Json::array();
    for (const PlanReplay& tried : plans) workload["plans"].push(replay_json(tried));
    workloads.push(std::move(workload));
  }
  return Json(Json::Object{{"chip", describe(replayed.chip.chip)},
                           {"rank", replayed.rank},
                           {"score", std::isfinite(replayed.score) ? Json(replayed.score) : Json()},
                           {"workloads", std::move(workloads)}});
}

std::string_view name_of(Direction direction) {
  return direction == Direction::forward ? "forward" : "backward";
}

std::string solver_rows(const std::vector<SolvedPass>& passes) {
  if (passes.empty()) return "";
  std::string out =
      "operator schedules of the best chip, without shared ports, by an integer linear programme and ours:\n";
  for (const SolvedPass& p : passes) {
    const Schedule& s = p.programme.schedule;
    fmt::format_to(std::back_inserter(out), "    {} {}: {} by {}{}, ours {}{}{}\n", p.layer, name_of(p.direction),
                   format(s.makespan), p.programme.solved_by,
                   s.gap() > 0 ? fmt::format(" ({:.2g} % open)", 100 * s.gap()) : "", format(p.own.makespan),
                   p.own.gap() > 0 ? fmt::format(" ({:.2g} % open)", 100 * p.own.gap()) : "",
                   p.programme.note.empty() ? "" : "; " + p.programme.note);
  }
  return out;
}

Json solver_json(const SolvedPass& p) {
  return Json(Json::Object{{"layer", p.layer},
                           {"pass", name_of(p.direction)},
                           {"solved_by", p.programme.solved_by},
                           {"note", p.programme.note},
                           {"makespan_s", p.programme.schedule.makespan.value()},
                           {"gap", p.programme.schedule.gap()},
                           {"own_makespan_s", p.own.makespan.value()},
                           {"own_gap", p.own.gap()}});
}

std::string replay_rows(const std::vector<ReplayedChip>& replayed) {
  if (replayed.empty()) return "";
  std::string out = fmt::format(
      "simulated, best first (ranks by the analytical cost: of the chip above, of its plans):\n{:<5}{:<34} {:>10} "
      "{:>10} "
      "{:>10} {:>5}  {}\n",
      "", "chip", "score", "expected", "simulated", "W", "plan, and where simulation differs");
  for (const ReplayedChip& chip : replayed)
    for (const auto& plans : chip.plans)
      for (const PlanReplay& p : plans) {
        const Replay& r = p.replay;
        const bool best = &p == &plans.front();
        fmt::format_to(std::back_inserter(out), "{:<5}{:<34} {:>10} {:>10.4g} {:>10.4g} {:>5.0f}  {}; {}\n",
                       fmt::format("{}.{}", chip.rank, p.rank), best ? describe(chip.chip.chip) : "",
                       best ? fmt::format("{:.4g}", chip.score) : "", p.result.samples_per_second, r.seen_rate,
                       r.power.value(), plan_text(p.result.plan), r.ran ? r.difference() : r.why);
      }
  return out;
}

}  // namespace

ReplayedChip replayed_chip(const SearchScenario& scenario, const ChipStudy& study, const SystolicChip& chip,
                           std::size_t rank, std::size_t count) {
  ReplayedChip result{.chip = study.evaluate(chip), .plans = {}, .score = 0, .rank = rank};
  std::vector<double> ratios;
  for (std::size_t w = 0; w < scenario.workloads.size(); ++w) {
    const auto& plans = result.plans.emplace_back(replay_plans(scenario, study, chip, w, count));
    const bool ran = !plans.empty() && plans.front().replay.ran;
    if (ran) result.chip.workloads[w] = {plans.front().choice, plans.front().result};
    ratios.push_back(ran ? plans.front().replay.seen_rate / plans.front().replay.expected_rate : 0);
  }
  const bool all = std::ranges::all_of(ratios, [](double r) { return r > 0; });
  result.score = all ? study.score(result.chip, ratios) : -std::numeric_limits<double>::infinity();
  return result;
}

std::string plan_text(const PipelinePlan& plan) {
  const auto recomputing = std::ranges::count_if(plan.stages, &PipelineStage::recompute);
  std::string text =
      fmt::format("{} stages x {} replicas, tp {}", plan.stages.size(), plan.replicas, widths_text(plan));
  const auto [least, most] = std::ranges::minmax(plan.stages, {}, &PipelineStage::replicas);
  if (most.replicas > 1) {
    int seats = 0;
    for (const PipelineStage& stage : plan.stages) seats += stage.replicas;
    text += fmt::format(", {}-{} replicas of a stage ({} in all)", least.replicas, most.replicas, seats);
  }
  if (plan.chunks > 1) text += fmt::format(", {} chunks", plan.chunks);
  if (recomputing > 0) text += fmt::format(", {} recompute", recomputing);
  return text;
}

std::string search_table(const SearchScenario& scenario, const SearchFindings& findings) {
  std::string out = fmt::format("{:<4}{:<34} {:>7} {:>7} {:>10} {:>10} {:>6}  {}\n", "", "chip", "mm2", "USD", "score",
                                "samples/s", "W", "plan");
  int rank = 0;
  for (const StudiedChip& studied : findings.best) row(out, fmt::format("{}", ++rank), studied);
  row(out, "ref", findings.reference);
  if (findings.expert) row(out, "exp", *findings.expert);
  out += fmt::format("score: {}. ref: the TPUv4-like chip, placed the same way{}.\n", unit_of(scenario),
                     findings.expert ? "; exp: that chip with the expert's plan" : "");
  out += std::string(kProvenance) + certificate_text(scenario, findings.certificate);
  out += solver_rows(findings.solved) + replay_rows(findings.replayed);
  if (!findings.front.empty())
    out += fmt::format("{} chips on the front of score over area{}.\n", findings.front.size(),
                       findings.front_complete ? "" : ", as far as the time went");
  return out;
}

Json search_json(const SearchScenario& scenario, const SearchFindings& findings) {
  const Certificate& proof = findings.certificate;
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(); };
  Json json(Json::Object{{"search", scenario.name}, {"score_unit", unit_of(scenario)}});
  json["certificate"] = Json(Json::Object{{"complete", proof.complete},
                                          {"candidates", proof.candidates},
                                          {"solved", proof.solved},
                                          {"excluded", proof.excluded},
                                          {"infeasible", proof.infeasible},
                                          {"open", proof.open},
                                          {"best_score", number(proof.score)},
                                          {"next_bound", number(proof.next_bound)}});
  for (const auto& [key, chips] : {std::pair{"best", &findings.best}, std::pair{"front", &findings.front}}) {
    json[key] = Json::array();
    for (const StudiedChip& studied : *chips) json[key].push(chip_json(studied, scenario));
  }
  if (!findings.solved.empty()) json["operator_schedules"] = Json::array();
  for (const SolvedPass& pass : findings.solved) json["operator_schedules"].push(solver_json(pass));
  if (!findings.replayed.empty()) json["replayed"] = Json::array();
  for (const ReplayedChip& replayed : findings.replayed) json["replayed"].push(replayed_json(replayed));
  if (findings.reference.workloads.empty()) return json;  // nothing was solved yet
  json["reference"] = chip_json(findings.reference, scenario);
  if (findings.expert) json["expert"] = chip_json(*findings.expert, scenario);
  return json;
}

std::string search_picture(const SearchScenario& scenario, const SearchFindings& findings) {
  ScatterChart chart{.title = scenario.name + ": " + unit_of(scenario) + " over die area",
                     .x_axis = "die area, mm2",
                     .y_axis = unit_of(scenario),
                     .series = {}};
  const auto points = [](const std::vector<StudiedChip>& chips, bool named) {
    std::vector<ScatterPoint> result;
    for (const StudiedChip& c : chips)
      if (std::isfinite(c.score)) result.push_back({c.die.value(), c.score, describe(c.chip), named});
    return result;
  };
  chart.series.push_back({"Pareto front", points(findings.front, false), true});
  chart.series.push_back({"best", points({findings.best.front()}, true)});
  chart.series.push_back({"TPUv4-like", points({findings.reference}, true)});
  return svg(chart);
}

}  // namespace tessera
