#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "sim/app/reproduce/phaze.hpp"
#include "sim/app/search/search_report.hpp"
#include "sim/report/bar_chart.hpp"

namespace tessera {
namespace {

class Page {
 public:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

double throughput(const StudiedChip& chip) {
  if (chip.workloads.empty() || !chip.workloads.front().result.feasible) return 0;
  return chip.workloads.front().result.samples_per_second;
}

std::string rate(double samples) {
  return samples > 0 ? fmt::format("{:.4g}", samples) : "does not fit";
}

std::string plan_of(const StudiedChip& chip) {
  if (throughput(chip) == 0) return "-";
  return plan_text(chip.workloads.front().result.plan);
}

std::vector<const PhazeSuiteRow*> rows_of(const std::vector<PhazeSuiteRow>& suite, bool corrected) {
  std::vector<const PhazeSuiteRow*> rows;
  for (const PhazeSuiteRow& row : suite)
    if (row.corrected == corrected) rows.push_back(&row);
  return rows;
}

void log_section(Page& page, const std::vector<PhazeLogRow>& rows) {
  page.put(
      "\n## The public log\n\nThe only published run (a course's fork of the original, one unit of time): Llama2-7B on "
      "a chip of four "
      "256 x 256 tensor cores, two vector cores and 256 MiB, 80 GiB of HBM. Ours is computed from the traced graph by "
      "our own "
      "estimator, schedules and placement. Samples/s:\n\n"
      "| micro-batch | log | ours | log, expert 32 x 32 | ours |\n|---|---|---|---|---|\n");
  for (const PhazeLogRow& row : rows)
    page.put("| {} | {:.5f} | {:.5f} | {:.4f} | {:.4f} |\n", row.micro_batch, row.log, row.ours, row.log_expert,
             row.expert);
  page.put("\nAt micro-batch 1 the log's integer programme stopped at its gap of 1 %; ours is proven optimal.\n");
}

void recorded_section(Page& page, const std::vector<PhazeRecordedRow>& rows) {
  page.put(
      "\n## The outer search on recorded cycles\n\nLayer cycles of 3,810 of the 29,360 chips (the larger arrays) were "
      "recorded with the "
      "original's mapper, released constants (samples per \"millisecond\"), 80 GiB, recomputation on.\n\n"
      "| micro-batch | TPUv4-like, optimal placement | best of all | chip | ratio | the original's stop rule | its "
      "share of the best "
      "| chips it solved, buckets | chips our search solved |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const PhazeRecordedRow& row : rows)
    page.put("| {} | {:.4f} | {:.4f} | {} | {:.2f} | {:.4f} | {:.0f} % | {}, {} | {} of {}, {} |\n", row.micro_batch,
             row.reference, row.best, row.chip, row.best / row.reference, row.stopped, 100 * row.stopped / row.best,
             row.stop_chips, row.stop_buckets, row.certificate.solved, row.certificate.candidates,
             row.certificate.next_bound <= row.certificate.score ? "certified" : "not certified");
}

void correction_section(Page& page, const std::vector<PhazeCorrectionRow>& rows) {
  page.put(
      "\n## What each correction does\n\nLlama2-7B as traced, micro-batch 2, 80 GiB, 4 GiB/s; each row corrects one "
      "error of the "
      "original alone, starting from the public fork. Samples/s of the best plan:\n\n"
      "| corrected | what changes | TPUv4-like | v7-like | ratio of both |\n|---|---|---|---|---|\n");
  for (const PhazeCorrectionRow& row : rows)
    page.put("| {} | {} | {} | {} | {} |\n", row.name, row.what, rate(row.tpu), rate(row.large),
             row.tpu > 0 ? fmt::format("{:.2f}", row.large / row.tpu) : "-");
}

double geometric_mean(const std::vector<const PhazeSuiteRow*>& rows, double (*of)(const PhazeSuiteRow&)) {
  double sum = 0;
  int count = 0;
  for (const PhazeSuiteRow* row : rows)
    if (const double value = of(*row); value > 0) {
      sum += std::log(value);
      ++count;
    }
  return count > 0 ? std::exp(sum / count) : 0;
}

double over_expert(const PhazeSuiteRow& row) {
  return throughput(row.expert) > 0 ? throughput(row.best) / throughput(row.expert) : 0;
}
double over_optimal(const PhazeSuiteRow& row) {
  return throughput(row.reference) > 0 ? throughput(row.best) / throughput(row.reference) : 0;
}
double over_bayesian(const PhazeSuiteRow& row) {
  return row.bayesian > 0 ? row.certificate.score / row.bayesian : 0;
}

void suite_section(Page& page, const std::vector<PhazeSuiteRow>& suite, bool corrected) {
  const auto rows = rows_of(suite, corrected);
  page.put(
      "\n## The suite, {}\n\nOur graphs (blocks from the models' configurations), 1,024 devices, batch 4,096, "
      "micro-batch 1, 80 "
      "GiB, 4 GiB/s{}. Samples/s:\n\n| model | TPUv4-like, expert plan | TPUv4-like, optimal plan | A100-like, optimal "
      "plan | "
      "best chip | over expert | over optimal |\n|---|---|---|---|---|---|---|\n",
      corrected ? "corrected" : "as the original computes",
      corrected ? ", four HBM stacks, Adam" : ", one unit of time, SGD");
  for (const PhazeSuiteRow* row : rows)
    page.put("| {} | {} | {} | {} | {} | {} | {:.2f} |\n", row->model, rate(throughput(row->expert)),
             rate(throughput(row->reference)), rate(throughput(row->a100)), rate(throughput(row->best)),
             over_expert(*row) > 0 ? fmt::format("{:.2f}", over_expert(*row)) : "-", over_optimal(*row));
  page.put("| geometric mean | | | | | {:.2f} | {:.2f} |\n", geometric_mean(rows, over_expert),
           geometric_mean(rows, over_optimal));
  page.put(
      "\n| model | best chip | mm2 | W | its plan | proven within | solved, excluded of all | CPU-seconds "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const PhazeSuiteRow* row : rows) {
    const double gap = std::max(row->certificate.next_bound / row->certificate.score - 1, 0.0);
    page.put("| {} | {} | {:.0f} | {:.0f} | {} | {:.1f} % | {}, {} of {} | {:.0f} |\n", row->model,
             describe(row->best.chip), row->best.die.value(), row->best.workloads.front().result.power.value(),
             plan_of(row->best), 100 * gap, row->certificate.solved, row->certificate.excluded,
             row->certificate.candidates, row->seconds);
  }
  page.put(
      "\nOther searches over the same chips, share of the certified best:\n\n| model | random, {0} chips | Bayesian "
      "with domain features "
      "(Spotlight-like), {0} chips | the original's stop rule | chips it solved |\n|---|---|---|---|---|\n",
      rows.empty() ? 0 : rows.front()->budget);
  const auto share = [](double score, const PhazeSuiteRow& row) {
    return score > 0 ? fmt::format("{:.0f} %", 100 * score / row.certificate.score) : std::string("nothing");
  };
  for (const PhazeSuiteRow* row : rows)
    page.put("| {} | {} | {} | {} | {} |\n", row->model, share(row->random, *row), share(row->bayesian, *row),
             share(row->stopped, *row), row->stop_chips);
  page.put("\nOver the Spotlight-like search: {:.2f} on the geometric mean.\n", geometric_mean(rows, over_bayesian));
}

}  // namespace

std::string phaze_page(const PhazeResults& results, std::string_view command) {
  Page page;
  page.put(
      "# Phaze (ICML 2024) in Tessera\n\nMade by `{}`. Phaze searches an accelerator's architecture and the placement "
      "of a model on 1,024 "
      "of them together. Its estimator, operator schedules, placement and outer search are rebuilt here in a "
      "compatible mode, and with "
      "their errors corrected; see sim/place/README.md.\n\n"
      "**What could not be read.** The paper's own figures (throughput over TPUv4 and Spotlight, convergence, plans, "
      "search times) are "
      "bars whose values are in no text that we could reach, and the release holds no results: nothing below is "
      "compared with them. "
      "Only Llama2-7B has a traced operator graph; for all other models the graph is ours. Spotlight's chips are not "
      "published either: "
      "\"Spotlight-like\" is a Bayesian search over the same chips with domain features under the same budget.\n",
      command);
  log_section(page, results.log);
  recorded_section(page, results.recorded);
  correction_section(page, results.corrections);
  suite_section(page, results.suite, false);
  suite_section(page, results.suite, true);
  page.put("{}", phaze_replay_section(results.replays));
  page.put(
      "\n![Throughput over the TPUv4-like chip with its optimal plan](phaze.svg)\n\nIn the corrected mode schedules "
      "are list "
      "schedules under shared memory "
      "ports: \"proven within\" says how much a chip could give at most over the best found; the placement is exact "
      "over plans "
      "of one tensor width and whole replicas, and the chips of the tables are placed again with every kind of plan "
      "and "
      "scheduled again more thoroughly. CPU-seconds are of one core of the machine that made this page.\n");
  return page.take();
}

std::string phaze_picture(const std::vector<PhazeSuiteRow>& suite) {
  BarChart chart{
      .title = "Corrected mode: throughput over the TPUv4-like chip with its optimal plan",
      .axis = "ratio",
      .categories = {},
      .series = {{"TPUv4-like, expert", {}}, {"A100-like, optimal", {}}, {"Spotlight-like", {}}, {"best chip", {}}}};
  for (const PhazeSuiteRow* row : rows_of(suite, true)) {
    chart.categories.push_back(row->model);
    const double base = throughput(row->reference);
    const auto ratio = [&](double value) { return value > 0 && base > 0 ? std::optional(value / base) : std::nullopt; };
    chart.series[0].values.push_back(ratio(throughput(row->expert)));
    chart.series[1].values.push_back(ratio(throughput(row->a100)));
    chart.series[2].values.push_back(ratio(row->bayesian));
    chart.series[3].values.push_back(ratio(throughput(row->best)));
  }
  return svg(chart);
}

}  // namespace tessera
