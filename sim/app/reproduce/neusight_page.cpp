// `reproduce neusight`: the experiments as one page with tables and pictures.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/app/reproduce/neusight_experiments.hpp"
#include "sim/app/reproduce/neusight_unseen.hpp"
#include "sim/config/gzip.hpp"
#include "sim/report/bar_chart.hpp"

namespace tessera {
namespace {

/// Measured, and in none of NeuSight's training sets.
constexpr std::string_view kUnseenGpu = "A100-PCIE-80GB";

EntryFilter is(std::string key, std::string value) {
  return [key = std::move(key), value = std::move(value)](const Entry& e) { return e.key(key) == value; };
}
EntryFilter both(EntryFilter a, EntryFilter b) {
  return [a = std::move(a), b = std::move(b)](const Entry& e) { return a(e) && b(e); };
}

void add(std::vector<TableLine>& lines, std::vector<TableLine> more) {
  std::ranges::move(more, std::back_inserter(lines));
}

std::string not_run(const Comparison& comparison) {
  std::string text;
  for (const auto& [reason, n] : comparison.not_run) text += fmt::format("- {} x {}\n", n, reason);
  return text.empty() ? text : "\nNot predicted:\n\n" + text;
}

std::string kernel_section(const Comparison& kernels) {
  static constexpr std::array kWhere{std::pair{"seen", "seen GPUs"}, std::pair{"unseen", "unseen GPUs"},
                                     std::pair{"amd", "AMD"}};
  std::string text =
      "## Kernels: the artifact's test shapes\n\nEvery model was fitted on other rows; an unseen GPU is in "
      "no fit of NeuSight's.\n\n![errors on unseen GPUs](neusight-kernels.svg)\n";
  for (const auto& [where, title] : kWhere) {
    const std::vector<TableLine> lines = lines_by(kernels, "op", is("where", where));
    if (!lines.empty()) text += fmt::format("\n### {}\n\n{}", title, markdown(kernels, "operator", lines));
  }
  text += fmt::format("\n### Matrix products of {0}, which NeuSight never saw\n\n", kUnseenGpu);
  const EntryFilter unseen = is("gpu", std::string(kUnseenGpu)), linear = is("op", "linear"), bmm = is("op", "bmm");
  text += markdown(kernels, "operator",
                   {{"linear", both(unseen, linear)},
                    {"bmm", both(unseen, bmm)},
                    {"both", both(unseen, [=](const Entry& e) { return linear(e) || bmm(e); })}});
  text += "\n### Per GPU\n\n";
  for (const char* op : {"linear", "bmm"}) {
    text += markdown(kernels, op, lines_by(kernels, "gpu", is("op", op))) + "\n";
  }
  return text + not_run(kernels);
}

/// The paper's way of scoring operators.
std::string per_run_section(const Comparison& runs) {
  std::string text =
      "\n### Per run, as the artifact scores them\n\nOne class's operators of one run summed over its layers, forward, "
      "backward and accumulation. On all its GPUs the artifact gives, in distribution: bmm 26.0, linear 20.0, "
      "elementwise 14.0, softmax 19.3, LayerNorm 20.1; out of distribution: 13.8, 13.9, 19.3, 13.9, 56.7.\n";
  for (const auto& [where, title] : {std::pair{"in", "in distribution"}, std::pair{"out", "out of distribution"}}) {
    const std::vector<TableLine> lines = lines_by(runs, "op", is("where", where));
    if (!lines.empty()) text += "\n" + markdown(runs, title, lines);
  }
  return text;
}

std::string operator_section(const Comparison& operators) {
  std::string text =
      "\n## Operators inside models\n\nMeasured one by one; NeuSight, Habitat, Li et al. and roofline (paper) are the "
      "published predictions.\n\n![errors out of distribution](neusight-operators.svg)\n\nMemory: embeddings, copies "
      "and views; many of these calls launch nothing, so what was "
      "measured is the host. In: a GPU it was trained on and BERT, GPT-2 or Switch; out: the others.\n";
  for (const auto& [where, title] : {std::pair{"in", "In distribution"}, std::pair{"out", "Out of distribution"}}) {
    const std::vector<TableLine> lines = lines_by(operators, "op", is("where", where));
    if (!lines.empty()) text += fmt::format("\n### {}\n\n{}", title, markdown(operators, "operator", lines));
  }
  const EntryFilter backward = both(is("direction", "bw"), [](const Entry& e) { return e.key("where") != "amd"; });
  text +=
      "\n### Backward\n\nOn all NVIDIA GPUs, part of the tables above. Ours of layernorm and softmax are single "
      "kernels "
      "(softmax's with the product before it). The artifact measured no optimiser steps.\n\n" +
      markdown(operators, "node", lines_by(operators, "kind", backward));
  return text + not_run(operators) + per_run_section(totals_per_run(operators));
}

std::string model_section(const Comparison& models) {
  const EntryFilter headline = is("split", "headline"), clean = both(headline, is("suspect", "0"));
  std::vector<TableLine> lines{{"headline", headline},
                               {"headline, clean", clean},
                               {"inference", both(headline, is("mode", "inf"))},
                               {"training", both(headline, is("mode", "train"))},
                               {"training, clean", both(clean, is("mode", "train"))},
                               {"seen GPUs", both(headline, is("where", "seen"))},
                               {"unseen GPUs", both(headline, is("where", "unseen"))},
                               {"torch.compile", is("split", "fused")},
                               {"several GPUs", is("split", "multi-gpu")},
                               {"AMD", is("split", "amd")},
                               {"not predicted by NeuSight", is("split", "no-prediction")}};
  std::string text =
      "\n## Whole models\n\nInference, or forward and backward. Clean: without runs whose measured forward pass takes "
      "over "
      "1.25 times the sum of its own measured operators.\n\n" +
      markdown(models, "rows", lines);
  text += "\n### Per GPU\n\n![errors per GPU](neusight-models.svg)\n\n" +
          markdown(models, "GPU, clean", lines_by(models, "gpu", clean));
  lines.clear();
  add(lines, lines_by(models, "model", both(clean, is("mode", "inf"))));
  text += "\n### Per model\n\n" + markdown(models, "inference, clean", lines);
  return text + "\n" +
         markdown(models, "training, clean", lines_by(models, "model", both(clean, is("mode", "train")))) + "\n" +
         markdown(models, "batch, clean", lines_by(models, "batch", clean)) + not_run(models);
}

std::string part_section(const Comparison& forward, const Comparison& backward) {
  const EntryFilter clean = both(both(is("split", "headline"), is("suspect", "0")), is("mode", "train"));
  const EntryFilter all = both(is("split", "headline"), is("mode", "train"));
  std::string text = "\n## Forward and backward apart\n\nTraining runs on one NVIDIA GPU.\n\n";
  text += markdown(forward, "forward", {{"clean", clean}, {"all", all}}) + "\n";
  return text + markdown(backward, "backward", {{"clean", clean}, {"all", all}});
}

std::string every_row(const Comparison& models) {
  std::string text =
      "\n## Every run\n\nPredicted over measured time, less one, in percent.\n\n| GPU | model | mode | batch | split |";
  std::string rule = "|---|---|---|---:|---|";
  for (const std::string& method : models.methods) {
    text += fmt::format(" {} |", method);
    rule += "---:|";
  }
  text += "\n" + rule + "\n";
  for (const Entry& e : models.entries) {
    const std::string mark = e.key("suspect") == "1" ? ", suspect" : "";
    const std::string split = e.key("parallelism") == "none" ? "" : fmt::format(" {}", e.key("parallelism"));
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {} | {}{}{} |", e.key("gpu"), e.key("model"),
                   e.key("mode"), e.key("batch"), e.key("split"), split, mark);
    for (const auto& time : e.predicted)
      text += time ? fmt::format(" {:+.1f} |", 100 * (*time / e.measured - 1)) : " - |";
    text += '\n';
  }
  return text;
}

/// One bar per method for each value of `key`.
BarChart chart_of(const Comparison& comparison, const std::string& key, const EntryFilter& keep, std::string title,
                  const std::vector<std::string>& methods) {
  BarChart chart{.title = std::move(title), .axis = "mean abs error, %", .categories = {}, .series = {}, .ceiling = 60};
  for (const std::string& method : methods) chart.series.push_back({method, {}});
  for (const TableLine& line : lines_by(comparison, key, keep)) {
    chart.categories.push_back(line.label);
    const std::vector<MethodError> errors = errors_of(comparison, line.keep);
    for (BarSeries& series : chart.series) {
      const auto found = std::ranges::find(comparison.methods, series.name);
      const bool there = found != comparison.methods.end();
      const MethodError error =
          there ? errors[static_cast<std::size_t>(found - comparison.methods.begin())] : MethodError{};
      series.values.push_back(error.n > 0 ? std::optional(error.mape) : std::nullopt);
    }
  }
  return chart;
}

std::string brief(const Comparison& models) {
  const EntryFilter clean = both(is("split", "headline"), is("suspect", "0"));
  std::string text = "Mean abs % error on the clean runs of whole models:\n";
  const std::vector<MethodError> errors = errors_of(models, clean);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i].n > 0)
      text += fmt::format("  {:<18} {:6.2f}  ({} runs)\n", models.methods[i], errors[i].mape, errors[i].n);
  }
  return text;
}

std::string introduction(const ReproduceOptions& options) {
  std::string text = fmt::format(
      "`{}`\n\n# NeuSight's experiments (Lee, Phanishayee, Mahajan, ASPLOS 2025)\n\nMeasurements: "
      "github.com/sitar-lab/NeuSight 6945927 (MIT). Mean absolute error in percent of the measured time; in brackets "
      "the number of rows where a method predicts fewer. \"Tessera\" has its default weights, fitted on kernels of "
      "other GPUs too (calibration/README.md), never on a whole model. \"NeuSight\", \"Habitat\", \"Li et al.\" and "
      "\"roofline (paper)\" are the artifact's published predictions; \"rebuilt\" models run in this program's event "
      "loop, host launches included; \"roofline\" is this program's.\n",
      options.command);
  if (options.refit) {
    text +=
        "\"Tessera, N\": protocol N, fitted on kernels of NeuSight's five training GPUs alone. \"Tessera, L\": "
        "protocol L, "
        "each GPU by weights fitted without it and its family mates (A100s; V100; P100 and P4; T4).\n";
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> pictures(const Comparison& models, const Comparison& operators,
                                                          const Comparison& kernels) {
  const auto not_amd = [](const Entry& e) { return e.key("where") != "amd"; };
  const auto drawn = [](std::string name, const BarChart& chart) { return std::pair(std::move(name), svg(chart)); };
  return {
      drawn("neusight-models.svg",
            chart_of(models, "gpu", both(is("split", "headline"), is("suspect", "0")),
                     "Whole models, clean runs, per GPU", {"Tessera", "NeuSight", "roofline (paper)", "Li et al."})),
      drawn("neusight-operators.svg",
            chart_of(operators, "op", both(is("where", "out"), [](const Entry& e) { return e.key("op") != "memory"; }),
                     "Operators inside models, out of distribution",
                     {"Tessera", "NeuSight", "roofline (paper)", "Li et al."})),
      drawn("neusight-kernels.svg",
            chart_of(kernels, "op", both(not_amd, is("where", "unseen")), "Kernels on unseen GPUs",
                     {"Tessera", "NeuSight rebuilt", "roofline", "Li rebuilt"}))};
}

}  // namespace

Reproduction reproduce_neusight(const ReproduceOptions& options) {
  NeuSightData data(options.data);
  const Contenders all = contenders(options);
  const Comparison models = compare_models(data, all, MeasuredPart::whole, options);
  const Comparison forward = compare_models(data, all, MeasuredPart::forward, options);
  const Comparison backward = compare_models(data, all, MeasuredPart::backward, options);
  const Comparison operators = compare_operators(data, all, options);
  const Comparison kernels = compare_kernels(data, all, options);

  std::string page = introduction(options) + model_section(models) + part_section(forward, backward);
  page += operator_section(operators) + "\n" + kernel_section(kernels);
  page += unseen_section(models, data, all) + every_row(models);
  Reproduction result{brief(models), {{"neusight.md", std::move(page)}}};
  std::ranges::move(pictures(models, operators, kernels), std::back_inserter(result.files));
  for (const auto& kept : all.kept) {
    if (!kept->fresh) continue;
    result.files.emplace_back(kept->file + ".csv.gz", gzip(kept->predictions.csv()));
    result.files.emplace_back(kept->file + ".json", kept->fits.dump() + "\n");
  }
  return result;
}

}  // namespace tessera
