#include "sim/app/search/search_files.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/app/inputs.hpp"
#include "sim/app/search/search_report.hpp"
#include "sim/cluster/description.hpp"
#include "sim/config/yaml.hpp"

namespace tessera {
namespace {

/// The search's document about one chip, whose space stays as what it is compared with.
std::string placement_scenario(const SearchFile& file, const SystolicChip& chip) {
  Json root = Json::object();
  const Json document = as_json(file.document.root);
  for (const auto& [key, value] : document.fields())
    if (key != "chip" && key != "plan" && key != "search") root[key] = value;
  root["search"] = "placement";
  root["chip"] = Json(Json::Object{{"tensor_cores", chip.tensor_cores},
                                   {"vector_cores", chip.vector_cores},
                                   {"width", chip.width},
                                   {"depth", chip.depth},
                                   {"buffer", fmt::format("{} MiB", chip.buffer.value() / 1048576)},
                                   {"hbm_stacks", chip.hbm_stacks}});
  return yaml_text(root, "The best chip of this search, as a search for its placement.");
}

Json run_json(const RunSpec& spec, const SearchWorkload& workload, const std::string& name, const std::string& times) {
  const ParallelSpec& p = spec.parallel;
  Json run(Json::Object{{"name", name}});
  run["workload"] = Json(Json::Object{{"model", workload.model},
                                      {"mode", "training"},
                                      {"dtype", to_string(spec.build.dtype)},
                                      {"sequence", spec.build.sequence},
                                      {"global_batch", p.micro_batches * p.dp * spec.build.batch},
                                      {"micro_batch", spec.build.batch},
                                      {"attention", "eager"},
                                      {"cuda_graph", true}});
  run["cluster"] = "cluster.yaml";
  run["gpus"] = p.world_size();
  run["section_times"] = times;
  run["collective_payload"] = spec.simulation.collective_payload;
  Json parallel(Json::Object{{"tp", p.tp}, {"pp", p.pp}, {"dp", p.dp}});
  if (p.chunks > 1) parallel["chunks"] = p.chunks;
  if (!p.stage_layers.empty()) {
    parallel["stage_layers"] = Json::array();
    for (const int layers : p.stage_layers) parallel["stage_layers"].push(layers);
  }
  if (!p.stage_replicas.empty()) {
    parallel["stage_replicas"] = Json::array();
    for (const int replicas : p.stage_replicas) parallel["stage_replicas"].push(replicas);
  }
  run["parallel"] = std::move(parallel);
  return run;
}

}  // namespace

std::vector<NamedFile> simulate_files(const SearchScenario& scenario, const ChipStudy& study,
                                      const StudiedChip& studied) {
  std::vector<NamedFile> files;
  Json runs = Json::array();
  for (std::size_t w = 0; w < scenario.workloads.size(); ++w) {
    const auto spec = replay_spec(planned_chip(scenario, study, studied, w));
    if (!std::holds_alternative<RunSpec>(spec)) return {};
    const auto& run = std::get<RunSpec>(spec);
    const std::string suffix = scenario.workloads.size() > 1 ? fmt::format("-{}", w + 1) : "";
    files.push_back({fmt::format("times{}.yaml", suffix), to_yaml(*run.sections)});
    runs.push(run_json(run, scenario.workloads[w], "best" + suffix, files.back().name));
    if (w > 0) continue;
    files.push_back({"chip.yaml", gpu_description(run.cluster.gpu, describe(studied.chip))});
    NodeSpec node = run.cluster.node;
    node.gpu = "chip.yaml";
    files.push_back({"node.yaml", node_description(node)});
    files.push_back({"cluster.yaml", cluster_description(run.cluster, "node.yaml")});
  }
  const Json root(Json::Object{{"name", scenario.name + "-best"},
                               {"latency_model", "roofline"},
                               {"fidelity", "kernel"},
                               {"runs", std::move(runs)}});
  files.insert(files.begin(),
               {"best.yaml", yaml_text(root, "The best chip of a search and its plan, for `tessera simulate`.")});
  return files;
}

std::vector<NamedFile> search_files(const SearchFile& file, const SearchFindings& findings) {
  const SearchScenario& scenario = file.scenario;
  return {{"search.json", search_json(scenario, findings).dump() + "\n"},
          {"search.svg", search_picture(scenario, findings)},
          {"placement.yaml", placement_scenario(file, findings.best.front().chip)}};
}

}  // namespace tessera
