#include "sim/app/reproduce/neusight_unseen.hpp"

#include <array>
#include <iterator>

#include <fmt/format.h>

namespace tessera {
namespace {

/// A figure of the paper or its artifact (commit 6945927): NeuSight's mean abs % error over some runs.
struct PaperFigure {
  std::string_view title;
  std::size_t rows;
  double mape;
  bool (*among)(const Entry& run);
};

bool headline(const Entry& run) {
  return run.key("split") == "headline";
}

constexpr std::array kFigures{
    PaperFigure{"NVIDIA, one GPU", 80, 8.89, headline},
    PaperFigure{"of these, inference", 54, 9.65, [](const Entry& r) { return headline(r) && r.key("mode") == "inf"; }},
    PaperFigure{"of these, training", 26, 7.31, [](const Entry& r) { return headline(r) && r.key("mode") == "train"; }},
    PaperFigure{"of these, GPUs it was trained on", 38, 9.81,
                [](const Entry& r) { return headline(r) && r.key("where") == "seen"; }},
    PaperFigure{"of these, other GPUs", 42, 8.06,
                [](const Entry& r) { return headline(r) && r.key("where") == "unseen"; }},
    PaperFigure{"of these, GPT-3 on H100", 6, 2.33,
                [](const Entry& r) {
                  return headline(r) && r.key("gpu").starts_with("H100") && r.key("model").starts_with("gpt3");
                }},
    PaperFigure{"torch.compile", 12, 14.94, [](const Entry& r) { return r.key("split") == "fused"; }},
    PaperFigure{"four GPUs", 11, 7.69, [](const Entry& r) { return r.key("split") == "multi-gpu"; }},
    PaperFigure{"AMD", 43, 11.23, [](const Entry& r) { return r.key("split") == "amd"; }}};

std::string figures(const Comparison& models) {
  std::string text =
      "| NeuSight's own figure | runs behind it | found here | its error on all | on those found "
      "|\n|---|---:|---:|---:|---:|\n";
  for (const PaperFigure& figure : kFigures) {
    const MethodError found = errors_of(models, figure.among).front();  // NeuSight is the first method
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {:.2f} | {} |\n", figure.title, figure.rows, found.n,
                   figure.mape, found.n > 0 ? fmt::format("{:.2f}", found.mape) : "-");
  }
  return text;
}

std::string fits(const Contenders& all) {
  std::string text;
  for (const auto& kept : all.kept) {
    if (kept->fits.items().empty()) continue;
    fmt::format_to(std::back_inserter(text), "\n{} was fitted as follows (the paper: 100 epochs, the best kept).\n\n",
                   kept->file == "neusight_rebuilt" ? "NeuSight rebuilt" : "Habitat rebuilt");
    for (const Json& fit : kept->fits.items()) {
      fmt::format_to(std::back_inserter(text), "- {}: {} rows, epoch {} of {} run, {:.1f} % on held-back rows\n",
                     fit.at("net").text(), fit.at("rows").integer(), fit.at("epoch").integer(),
                     fit.at("epochs_run").integer(), fit.at("validation_error_percent").number());
    }
  }
  return text;
}

}  // namespace

std::string unseen_section(const Comparison& models, const NeuSightData& data, const Contenders& all) {
  std::string text = "\n## What this page could not see\n\n" + figures(models) + "\n";
  text += "- fp16 on tensor cores: the artifact's nine batched products on H100 (NeuSight 13.5 %) are not read\n";
  for (const std::string& gpu : data.unknown_gpus())
    text += fmt::format("- {}: no data sheet in platforms/gpus\n", gpu);
  for (const std::string& file : data.missing()) text += fmt::format("- {}: not in this checkout\n", file);
  for (const std::string& model : all.missing) text += fmt::format("- {}\n", model);
  return text + fits(all);
}

}  // namespace tessera
