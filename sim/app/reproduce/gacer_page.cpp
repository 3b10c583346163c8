#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "sim/app/reproduce/gacer.hpp"
#include "sim/app/reproduce/gacer_tables.hpp"
#include "sim/report/bar_chart.hpp"

namespace tessera {
namespace {

std::size_t index_of(const std::vector<PolicyContender>& contenders, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(contenders, name, &PolicyContender::name) - contenders.begin());
}

std::string head(const std::vector<PolicyContender>& columns, std::string_view first) {
  std::string text = fmt::format("| {} |", first), rule = "|---|";
  for (const PolicyContender& column : columns) {
    fmt::format_to(std::back_inserter(text), " {} |", column.name);
    rule += "---|";
  }
  return text + "\n" + rule + "\n";
}

std::string makespan_table(const std::vector<MakespanRow>& rows, const std::vector<PolicyContender>& contenders) {
  const std::size_t base = index_of(contenders, "sequential");
  std::string text = head(contenders, "tenants | GPU | batch | sequential ms | bound");
  text.insert(text.find("|---|") + 5, "---|---|---|---|");
  std::vector<std::vector<double>> all(contenders.size());
  for (const MakespanRow& row : rows) {
    const Seconds sequential = row.outcomes[base].makespan;
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {:.2f} | {:.2f} |", row.group, row.gpu,
                   row.batch > 0 ? fmt::format("{}", row.batch) : "profiled", sequential.value() * 1e3,
                   sequential / row.bound);
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const PolicyOutcome& outcome = row.outcomes[i];
      text += outcome.done ? fmt::format(" {:.2f} |", sequential / outcome.makespan) : " - |";
      if (outcome.done) all[i].push_back(sequential / outcome.makespan);
    }
    text += "\n";
  }
  text += "| geometric mean | | | | |";
  for (const std::vector<double>& column : all)
    text += column.empty() ? " - |" : fmt::format(" {:.2f} |", geometric_mean(column));
  return text + "\n";
}

std::string search_table(const std::vector<MakespanRow>& rows, const std::vector<PolicyContender>& contenders) {
  std::string text = head(contenders, "ms on this machine");
  for (const MakespanRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "| {} |", row.group);
    for (const PolicyOutcome& outcome : row.outcomes)
      text += outcome.done ? fmt::format(" {:.1f} |", outcome.processor.value() * 1e3) : " - |";
    text += "\n";
  }
  return text;
}

std::string ablation_table(const std::vector<AblationRow>& rows, const std::vector<PolicyContender>& variants) {
  std::string text = head(variants, "speed-up over sequential");
  std::vector<std::vector<double>> all(variants.size());
  for (const AblationRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "| {} |", row.group);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      text += fmt::format(" {:.3f} |", row.speedups[i]);
      all[i].push_back(row.speedups[i]);
    }
    text += "\n";
  }
  text += "| geometric mean |";
  for (const auto& column : all) text += fmt::format(" {:.3f} |", geometric_mean(column));
  return text + "\n";
}

std::string noise_table(const std::vector<NoiseRow>& rows) {
  std::string text = "| tenants | deviation | GACER's plan / lookahead | GACER's plan / streams |\n|---|---|---|---|\n";
  for (const NoiseRow& row : rows)
    fmt::format_to(std::back_inserter(text), "| {} | {:.0f} % | {:.3f} | {:.3f} |\n", row.group, 100 * row.deviation,
                   row.gacer_over_lookahead, row.gacer_over_streams);
  return text;
}

struct Versus {
  std::vector<double> tails, goodputs;
};

/// GACER's tail over lookahead's, and lookahead's goodput over GACER's.
std::string arrival_table(const GacerResults& r, bool charged, Versus& versus) {
  const std::size_t gacer = index_of(r.contenders, "gacer"), ours = index_of(r.contenders, "lookahead");
  std::string text = head(r.contenders, "tenants, load, burst");
  for (const ArrivalRow& row : r.arrivals) {
    const std::vector<PolicyOutcome>& outcomes = charged ? row.charged : row.outcomes;
    fmt::format_to(std::back_inserter(text), "| {}, {:.1f}, {} |", row.group, row.load, row.burst);
    for (const PolicyOutcome& o : outcomes)
      text += o.done ? fmt::format(" {:.2f}, {:.0f} |", o.tail, o.goodput.value()) : " - |";
    text += "\n";
    if (gacer >= outcomes.size() || ours >= outcomes.size() || !outcomes[gacer].done || !outcomes[ours].done) continue;
    versus.tails.push_back(outcomes[gacer].tail / outcomes[ours].tail);
    if (outcomes[gacer].goodput > Hertz(0.0))
      versus.goodputs.push_back(outcomes[ours].goodput / outcomes[gacer].goodput);
  }
  const std::string goodput =
      versus.goodputs.empty()
          ? "GACER serves none in time on any row"
          : fmt::format(
                "lookahead's goodput is {:.2f} times GACER's (rows where GACER serves none in time are left out)",
                geometric_mean(versus.goodputs));
  fmt::format_to(
      std::back_inserter(text),
      "\nGeometric mean: GACER's p99 is {:.2f} times lookahead's; {}; lookahead has the lower p99 on {} of {} rows.\n",
      geometric_mean(versus.tails), goodput, std::ranges::count_if(versus.tails, [](double x) { return x > 1; }),
      versus.tails.size());
  return text;
}

}  // namespace

std::string makespan_line(const MakespanRow& row, const std::vector<PolicyContender>& contenders) {
  const Seconds sequential = row.outcomes[index_of(contenders, "sequential")].makespan;
  std::string text = fmt::format("{}: sequential {:.2f} ms", row.group, sequential.value() * 1e3);
  for (const char* name : {"streams", "gacer", "cpp", "lookahead"}) {
    const std::size_t at = index_of(contenders, name);
    if (at < contenders.size()) text += fmt::format(", {} {:.2f}x", name, sequential / row.outcomes[at].makespan);
  }
  return text + "\n";
}

std::string gacer_page(const GacerResults& r, std::string_view command) {
  std::string out = fmt::format(
      "# GACER (arXiv 2304.11745) in Tessera\n\nMade by `{}`. GACER regulates tenants of one GPU in space (operators "
      "cut along the batch) and in time (pointers at which all wait for each other), by a search over both.\n\n"
      "**What could not be read.** The paper's own figures were not available to us: none of them is compared with "
      "anything here. What is tested is its claims: that both regulations together are at least as good as either, "
      "that "
      "the number of pointers has an optimum, that it beats running tenants one after the other, plain streams and "
      "MPS. "
      "Its group's predecessor (arXiv 2111.14255) reports 1.3 to 1.7 times over cuDNN, TVM and streams. \"gacer\" is "
      "our own rebuilding, every doubt resolved in its favour: exact durations, the makespan as objective, the best "
      "variant, no search time charged unless said.\n\nSpeed-ups are over `sequential`; `bound` is what the longest "
      "tenant alone would give, which no policy can pass where it has no bandwidth to lose.\n",
      command);
  const auto put = [&](std::string_view title, std::string_view text, const std::string& table) {
    fmt::format_to(std::back_inserter(out), "\n## {}\n\n{}\n\n{}", title, text, table);
  };
  put("Orion's kernels on a V100",
      "Kernels as measured one by one (durations, SMs needed, class); t marks training. What they move is assumed "
      "(sim/app/tenants/profile_kernels.hpp).",
      makespan_table(r.profiles, r.contenders));
  put("Search time", "Processor time of one whole evaluation, the policy's search included.",
      search_table(r.profiles, r.contenders));
  put("Built-in models on five GPUs",
      "Kernels priced by the latency model in fp32, launched without a host; GACER with a tenth of its budget of "
      "evaluations; a MIG slice each where there is any.",
      makespan_table(r.models, r.model_contenders));
  put("Space, time, both",
      "What GACER may use. By widths: searched by GACER's own packing of SM shares, which sees no bandwidth.",
      ablation_table(r.by_part, r.parts));
  put("Pointers", "GACER in time alone with exactly so many pointers, each costing a synchronisation.",
      ablation_table(r.by_pointers, r.pointers));
  put("Pieces", "GACER in space alone with at most so many pieces; of whole samples, and batches are 2 and 4 here.",
      ablation_table(r.by_pieces, r.pieces));
  put("Wrong durations",
      "GACER's plan made for the profiles and run with every duration off by a lognormal factor; makespans, mean of "
      "the "
      "draws. lookahead decides while it runs, so it sees the true ones.",
      noise_table(r.noise));
  Versus free, charged;
  put("Arrivals",
      "Poisson arrivals of every tenant at equal shares of the load; bursts of so many requests. Each cell: geometric "
      "mean over tenants of p99 latency over time alone, and requests a second within three times their time alone.",
      arrival_table(r, false, free));
  put("Arrivals, search time charged",
      "The same, but nobody is served before the search (all of it, at this machine's speed) is over. A cache of plans "
      "would spare GACER all but the first.",
      arrival_table(r, true, charged));
  return out + colocation_tables(r);
}

std::string gacer_picture(const GacerResults& r) {
  BarChart chart{.title = "Speed-up over sequential, Orion's kernels on a V100",
                 .axis = "times",
                 .categories = {},
                 .series = {},
                 .ceiling = 0};
  const std::size_t base = index_of(r.contenders, "sequential");
  for (const char* name : {"streams", "gacer", "cpp", "lookahead"}) {
    const std::size_t at = index_of(r.contenders, name);
    if (at == r.contenders.size()) continue;
    BarSeries series{name, {}};
    for (const MakespanRow& row : r.profiles)
      series.values.emplace_back(row.outcomes[base].makespan / row.outcomes[at].makespan);
    chart.series.push_back(std::move(series));
  }
  for (const MakespanRow& row : r.profiles) chart.categories.push_back(row.group);
  return svg(chart);
}

}  // namespace tessera
