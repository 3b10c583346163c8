#include "sim/app/search/gpu_scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>

#include "models/memory_footprint.hpp"
#include "sim/app/graph_names.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/report/scatter_chart.hpp"

namespace tessera {

namespace {

constexpr std::size_t kMostRows = 20;  // of the table

void look_up(Reader& r, std::string_view key, void (*what)(const std::string&), const std::string& name) {
  try {
    what(name);
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) r.error(key, d.message);
  }
}

BuildOptions build_of(const GpuSearchWorkload& s) {
  const bool training = s.mode == Mode::training;
  return {.mode = s.mode,
          .batch = s.batch,
          .sequence = s.sequence,
          .dtype = Dtype::bf16,
          .attention = AttentionKind::flash,
          .optimizer = training ? OptimizerKind::adam : OptimizerKind::none};
}

/// The kernels of one step, equal ones together.
GpuWorkload workload_of(const GpuSearchWorkload& s) {
  const ModelConfig model = find_model(s.model);
  const BuildOptions build = build_of(s);
  const Graph graph = build_graph(model, build);
  GpuWorkload workload{.items = static_cast<double>(s.batch)};
  workload.memory = memory_footprint(model, build, graph, ParallelSpec{}).total();
  std::unordered_map<Kernel, std::size_t, KernelHash> index;
  for (const Operator& op : graph.operators) {
    const auto [at, fresh] = index.emplace(op.kernel, workload.parts.size());
    if (fresh) workload.parts.push_back({op.kernel, 0});
    workload.parts[at->second].count += 1;
  }
  return workload;
}

void row(std::string& out, std::string_view name, const GpuPoint& p) {
  const auto bar = [](double low, double high) { return fmt::format("{:.4g}-{:.4g}", low, high); };
  const double items = p.items_per_second * p.time.p50.value();
  fmt::format_to(std::back_inserter(out), "{:<7}{:>10.4g} {:>15} {:>8.0f} {:>11} {:>7.0f} {:>7.2f} {:>11}  {}{}\n",
                 name, p.items_per_second, bar(items / p.time.p90.value(), items / p.time.p10.value()),
                 p.area.p50.value(), bar(std::round(p.area.p10.value()), std::round(p.area.p90.value())),
                 p.power.value(), p.rent_per_hour.p50.value(),
                 bar(p.rent_per_hour.p10.value(), p.rent_per_hour.p90.value()), describe(p.gpu),
                 p.out_of_range > 0 ? ", outside what was fitted" : "");
}

Json point_json(const GpuPoint& p) {
  return Json(Json::Object{{"gpu", describe(p.gpu)},
                           {"samples_per_second", p.items_per_second},
                           {"step_s", p.time.p50.value()},
                           {"step_p10_s", p.time.p10.value()},
                           {"step_p90_s", p.time.p90.value()},
                           {"area_mm2", p.area.p50.value()},
                           {"area_p10_mm2", p.area.p10.value()},
                           {"area_p90_mm2", p.area.p90.value()},
                           {"power_w", p.power.value()},
                           {"rent_usd_per_hour", p.rent_per_hour.p50.value()},
                           {"rent_p10_usd_per_hour", p.rent_per_hour.p10.value()},
                           {"rent_p90_usd_per_hour", p.rent_per_hour.p90.value()},
                           {"out_of_range", p.out_of_range}});
}

}  // namespace

void describe(Reader& r, GpuAroundSection& s) {
  std::string names;
  for (const NamedGpuTemplate& known : known_gpu_templates())
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  r.required("around", s.around, "the GPU in the middle: " + names);
  r.optional("area", s.area, "limit, of all dies");
  r.optional("power_cap", s.power_cap, "limit of the board's cap");
  r.optional("rent", s.rent, "limit, an hour");
  if (r.has("around") && r.ok())
    look_up(
        r, "around", [](const std::string& name) { gpu_template(name); }, s.around);
}

void describe(Reader& r, GpuSearchWorkload& s) {
  r.required("model", s.model, "a built-in model (`tessera list models`) or a Hugging Face config.json");
  r.optional("mode", s.mode, "inference: one forward pass; training: one optimizer step");
  r.required("sequence", s.sequence, "tokens per sample");
  r.optional("batch", s.batch, "samples");
  if (r.has("model") && r.ok())
    look_up(
        r, "model", [](const std::string& name) { find_model(name); }, s.model);
  if (r.has("sequence") && s.sequence < 1) r.error("sequence", fmt::format("must be at least 1, found {}", s.sequence));
  if (s.batch < 1) r.error("batch", fmt::format("must be at least 1, found {}", s.batch));
}

void describe(Reader& r, GpuScenario& s) {
  r.required("name", s.name, "of the search; names the folder of its results");
  r.optional("latency_model", s.latency_model, "prices kernels (`tessera list latency-models`)");
  r.required("gpu", s.gpu, "what is searched");
  r.required("workload", s.workload, "what one GPU runs");
  const auto fine = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  if (r.has("name") && (s.name.empty() || !std::ranges::all_of(s.name, fine)))
    r.error("name", fmt::format("'{}' names a folder: use letters, digits, - and _", s.name));
  if (!r.printing())
    look_up(
        r, "latency_model", [](const std::string& name) { make_latency_model(name); }, s.latency_model);
}

bool is_gpu_search(const Document& document) {
  return document.root.find("gpu") != nullptr;
}

GpuSearchResult search_around(const GpuScenario& s) {
  const GpuTemplate& centre = gpu_template(s.gpu.around);
  return search_gpus(centre, neighbourhood(centre), {s.gpu.area, s.gpu.power_cap, s.gpu.rent}, workload_of(s.workload),
                     *make_latency_model(s.latency_model));
}

std::string gpu_table(const GpuScenario& scenario, const GpuSearchResult& result) {
  std::string out = fmt::format("{:<7}{:>10} {:>15} {:>8} {:>11} {:>7} {:>7} {:>11}  {}\n", "", "samples/s", "p10-p90",
                                "mm2", "p10-p90", "W", "USD/h", "p10-p90", "GPU");
  const std::size_t shown = std::min(result.front.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) row(out, std::to_string(i + 1), result.front[i]);
  if (shown < result.front.size()) out += fmt::format("... {} more in search.json\n", result.front.size() - shown);
  row(out, "centre", result.centre);
  return out +
         fmt::format(
             "{} candidates around {}: {} on the front of throughput, area, power and rent; {} cannot be built, "
             "{} are over "
             "the limits, {} have too little memory.\n",
             result.candidates, scenario.gpu.around, result.front.size(), result.unbuildable, result.over_limits,
             result.too_small) +
         fmt::format(
             "samples/s: {} latency model, as if all kernels were wrong together; mm2 and USD/h: fits on known "
             "dies and rents, their bars from those left out; W: the mean over a run, by the latency model's "
             "energies, no bar.\n",
             scenario.latency_model);
}

Json gpu_json(const GpuScenario& scenario, const GpuSearchResult& result) {
  Json front = Json::array();
  for (const GpuPoint& point : result.front) front.push(point_json(point));
  return Json(Json::Object{{"search", scenario.name},
                           {"candidates", result.candidates},
                           {"unbuildable", result.unbuildable},
                           {"over_limits", result.over_limits},
                           {"too_small", result.too_small},
                           {"centre", point_json(result.centre)},
                           {"front", std::move(front)}});
}

std::string gpu_picture(const GpuScenario& scenario, const GpuSearchResult& result) {
  ScatterChart chart{.title = scenario.name + ": around " + scenario.gpu.around,
                     .x_axis = "die area, mm2",
                     .y_axis = "samples/s",
                     .series = {}};
  ScatterSeries front{.name = "not beaten", .points = {}}, centre{.name = scenario.gpu.around, .points = {}};
  for (const GpuPoint& p : result.front)
    front.points.push_back({p.area.p50.value(), p.items_per_second, describe(p.gpu)});
  centre.points.push_back({result.centre.area.p50.value(), result.centre.items_per_second, scenario.gpu.around, true});
  chart.series = {std::move(front), std::move(centre)};
  return svg(chart);
}

std::string gpu_search_reference() {
  std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const ReferenceRow& row : reference<GpuScenario>())
    fmt::format_to(std::back_inserter(text), "| `{}` | {}{} | {} | {} |\n", row.path, row.type,
                   row.unit.empty() ? "" : ", " + row.unit, row.required ? "**required**" : row.default_text,
                   row.meaning);
  return text;
}

}  // namespace tessera
