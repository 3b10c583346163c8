#include "sim/app/scenario.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/place/policy.hpp"
#include "sim/serve/policy.hpp"

namespace tessera {
namespace {

/// A path in the file means a path from the file's folder, where such a file exists.
void resolve_path(Node& map, std::string_view key, std::string_view extension, const std::filesystem::path& folder) {
  for (auto& [name, value] : map.fields) {
    if (name != key || !value.scalar.ends_with(extension)) continue;
    const auto beside = folder / value.scalar;
    if (std::filesystem::exists(beside)) value.scalar = beside.string();
  }
}

void resolve_tenant_paths(Node& tenants, const std::filesystem::path& folder) {
  for (Node& tenant : tenants.items) {
    resolve_path(tenant, "model", ".json", folder);
    resolve_path(tenant, "profile", "", folder);
    for (auto& [name, value] : tenant.fields)
      if (name == "arrivals") resolve_path(value, "trace", "", folder);
  }
}

void resolve_job_paths(Node& jobs, const std::filesystem::path& folder) {
  for (auto& [name, value] : jobs.fields) {
    if (name == "trace") resolve_path(value, "file", "", folder);
    if (name != "list") continue;
    for (Node& job : value.items)
      for (auto& [key, part] : job.fields)
        if (key == "workload") resolve_path(part, "model", ".json", folder);
  }
}

void resolve_schedule_paths(Node& collectives, const std::filesystem::path& folder) {
  for (auto& [key, own] : collectives.fields)
    if (key == "own")
      for (Node& one : own.items) resolve_path(one, "schedule", ".yaml", folder);
}

void resolve_paths(Document& document, const std::filesystem::path& folder) {
  for (auto& [key, runs] : document.root.fields) {
    if (key != "runs") continue;
    for (Node& item : runs.items) {
      resolve_path(item, "gpu", ".yaml", folder);
      resolve_path(item, "cluster", ".yaml", folder);
      resolve_path(item, "profile", ".yaml", folder);
      resolve_path(item, "section_times", ".yaml", folder);
      for (auto& [name, value] : item.fields) {
        if (name == "collectives") resolve_schedule_paths(value, folder);
        if (name == "workload") resolve_path(value, "model", ".json", folder);
        if (name == "tenants") resolve_tenant_paths(value, folder);
        if (name == "jobs") resolve_job_paths(value, folder);
      }
    }
  }
}

/// Requests that all have the workload's length, formed into one batch per replica by the serving policy.
void set_inference_batch(BuildOptions& build, const RunSection& section, int dp) {
  const std::int64_t per_replica = section.workload.batch.value() / dp;
  const std::vector<Request> requests(static_cast<std::size_t>(per_replica), {section.workload.sequence});
  const Batch batch = make_serving_policy(section.serving)->next(requests, per_replica);
  build.batch = static_cast<std::int64_t>(batch.requests.size());
  build.sequence = batch.padded_tokens / build.batch;
}

/// Results lie in a folder of the scenario's name: two of one name would overwrite each other.
std::vector<Diagnostic> repeated_names(const std::vector<ScenarioFile>& files) {
  std::vector<Diagnostic> mistakes;
  for (auto file = files.begin(); file != files.end(); ++file) {
    const auto same = std::find_if(files.begin(), file,
                                   [&](const ScenarioFile& e) { return e.scenario.name == file->scenario.name; });
    if (same == file) continue;
    const Node* name = file->document.root.find("name");
    mistakes.push_back({file->document.file, name->line, name->column,
                        fmt::format("name: '{}' is the name of {} too: the results of one would overwrite the other's",
                                    file->scenario.name, same->path.string())});
  }
  return mistakes;
}

}  // namespace

ScenarioFile read_scenario(const std::filesystem::path& path, std::span<const std::string> settings) {
  ScenarioFile file{path, parse_document(path), {}};
  set_values(file.document, settings);
  resolve_paths(file.document, path.parent_path());
  file.scenario = read<Scenario>(file.document);
  return file;
}

std::vector<ScenarioFile> read_scenarios(std::span<const std::string> paths, std::span<const std::string> settings) {
  std::vector<ScenarioFile> files;
  files.reserve(paths.size());
  std::vector<Diagnostic> mistakes;
  for (const std::string& path : paths) {
    try {
      files.push_back(read_scenario(path, settings));
    } catch (const InputError& error) {
      mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (mistakes.empty()) mistakes = repeated_names(files);
  if (!mistakes.empty()) throw InputError(std::move(mistakes));
  return files;
}

int stated_replicas(const RunSection& s, int gpus) {
  if (s.parallel.dp) return *s.parallel.dp;
  if (make_placement_policy(s.placement)->chooses()) return 1;
  return static_cast<int>(gpus / s.parallel.gpus());
}

ClusterSpec platform_of(const RunSection& section) {
  return section.gpu ? single_gpu(*section.gpu) : find_cluster(*section.cluster, section.nodes.value_or(0));
}

RunSpec resolve(const Scenario& scenario, const RunSection& section) {
  const WorkloadSection& w = section.workload;
  RunSpec spec;
  spec.scenario = scenario.name;
  spec.name = section.name;
  spec.model = find_model(w.model);
  spec.cluster = platform_of(section);
  if (section.profile) {
    spec.profile = find_profile(*section.profile);
    spec.cluster.node.host_launch = spec.profile->launch_time(spec.cluster.node.host_launch);
  }
  if (section.section_times) spec.sections = read_section_times(*section.section_times);
  spec.parallel.tp = section.parallel.tp;
  spec.parallel.pp = section.parallel.pp;
  spec.parallel.cp = section.parallel.cp;
  spec.parallel.ep = section.parallel.ep;
  spec.parallel.chunks = section.parallel.chunks;
  spec.parallel.schedule = section.parallel.schedule;
  spec.parallel.sharding = section.parallel.sharding;
  spec.parallel.recompute = w.recompute;
  spec.parallel.sequence_parallel = section.parallel.sequence_parallel;
  spec.parallel.overlap = section.parallel.overlap;
  spec.parallel.asynchronous_tp = section.parallel.asynchronous_tp;
  spec.parallel.tp_waits = section.parallel.tp_waits;
  spec.parallel.expert_load = section.parallel.expert_load;
  spec.parallel.reduced_as = section.parallel.reduced_as;
  spec.parallel.stage_layers = section.parallel.stage_layers;
  spec.parallel.stage_replicas = section.parallel.stage_replicas;
  spec.gpus = section.gpus.value_or(spec.cluster.gpus());
  spec.parallel.dp = stated_replicas(section, spec.gpus);
  spec.parallel.bucket = section.parallel.bucket;
  spec.build = {.mode = w.mode,
                .batch = w.micro_batch.value_or(1),
                .sequence = w.sequence,
                .dtype = w.dtype,
                .attention = w.attention,
                .optimizer = w.optimizer.value_or(w.mode == Mode::training ? OptimizerKind::adam : OptimizerKind::none),
                .accumulate = true,
                .fused = w.fused,
                .context = section.parallel.cp,
                .products = w.products,
                .row_scales = w.row_scales};
  if (w.mode == Mode::training)
    spec.parallel.micro_batches = w.global_batch.value() / (spec.parallel.dp * spec.build.batch);
  else
    set_inference_batch(spec.build, section, spec.parallel.dp);
  spec.placement = section.placement;
  spec.free_micro_batch = make_placement_policy(section.placement)->chooses() && !w.micro_batch;
  spec.simulation.fidelity = scenario.fidelity;
  spec.simulation.fold = scenario.fold;
  spec.simulation.dispatch = section.dispatch;
  if (section.collective_payload)
    spec.simulation.collective_payload = *section.collective_payload;
  else
    spec.simulation.collectives = load_collective_parameters();
  spec.simulation.own_collectives = own_collectives(section.collectives);
  spec.simulation.collectives_take_sms = section.collectives.take_sms;
  spec.simulation.cuda_graph = w.cuda_graph;
  spec.cold_allocator = w.allocator == AllocatorState::cold;
  return spec;
}

SharedSections shared_sections(const Scenario& scenario, const RunSection& section) {
  return {scenario.name,
          section.name,
          section.dispatch,
          section.gpu ? std::vector{*section.gpu} : section.sharing.devices,
          section.sharing,
          section.tenants,
          static_cast<std::uint64_t>(scenario.seed)};
}

SharedRunSpec resolve_tenants(const Scenario& scenario, const RunSection& section, const LatencyModel& latency) {
  return resolve_sharing(shared_sections(scenario, section), latency);
}

}  // namespace tessera
