#include "sim/app/inputs.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "sim/base/file.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/text.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

void add_file(std::vector<std::pair<std::string, std::string>>& list, const fs::path& path) {
  if (!fs::is_regular_file(path)) return;
  const fs::path relative = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(home()));
  const bool inside = !relative.empty() && !relative.string().starts_with("..");
  list.emplace_back(inside ? relative.string() : path.string(), content_hash(read_file(path)));
}

/// Files of `folder` whose stem is `name`, case and punctuation ignored.
void add_named(std::vector<std::pair<std::string, std::string>>& list, const fs::path& folder, std::string_view name) {
  if (!fs::is_directory(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder))
    if (normalise(entry.path().stem().string()) == normalise(name)) add_file(list, entry.path());
}

void add_all(std::vector<std::pair<std::string, std::string>>& list, const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json") add_file(list, entry.path());
}

/// With the weights of the latency model; sorted, each once.
std::vector<std::pair<std::string, std::string>> with_weights(std::vector<std::pair<std::string, std::string>> list) {
  add_all(list, home() / "calibration" / "weights");
  std::ranges::sort(list);
  const auto repeated = std::ranges::unique(list);
  list.erase(repeated.begin(), repeated.end());
  return list;
}

Json scalar_as_json(const Node& node) {
  if (node.quoted) return node.scalar;
  if (node.scalar == "true" || node.scalar == "false") return node.scalar == "true";
  const char* const end = node.scalar.data() + node.scalar.size();
  std::int64_t integer = 0;
  if (const auto [rest, error] = std::from_chars(node.scalar.data(), end, integer); error == std::errc() && rest == end)
    return integer;
  double number = 0;
  if (const auto [rest, error] = std::from_chars(node.scalar.data(), end, number); error == std::errc() && rest == end)
    return number;
  return node.scalar;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> input_hashes(const ScenarioFile& file, const RunSpec& spec) {
  std::vector<std::pair<std::string, std::string>> list;
  add_file(list, file.path);
  add_named(list, home() / "scenarios" / "models", spec.model.name);
  add_named(list, home() / "platforms" / "gpus", spec.cluster.gpu.name);
  add_named(list, home() / "platforms" / "nodes", spec.cluster.node.name);
  add_named(list, home() / "platforms" / "clusters", spec.cluster.name);
  if (spec.profile) add_named(list, home() / "platforms" / "profiles", spec.profile->name);
  for (const RunSection& run : file.scenario.runs)
    if (run.name == spec.name)
      for (const auto& path : {std::optional(run.workload.model), run.gpu, run.cluster, run.profile, run.section_times})
        if (path) add_file(list, *path);
  for (const RunSection& run : file.scenario.runs)
    if (run.name == spec.name)
      for (const OwnCollectiveSection& own : run.collectives.own) add_file(list, own.schedule);
  return with_weights(std::move(list));
}

namespace {

void add_jobs(std::vector<std::pair<std::string, std::string>>& list, const RunSection& section) {
  const ClusterSpec cluster = platform_of(section);
  add_named(list, home() / "platforms" / "gpus", cluster.gpu.name);
  add_named(list, home() / "platforms" / "nodes", cluster.node.name);
  add_named(list, home() / "platforms" / "clusters", cluster.name);
  add_file(list, *section.cluster);
  if (section.jobs->trace) add_file(list, section.jobs->trace->file);
  for (const JobSection& job : section.jobs->list) {
    if (!job.workload) continue;
    add_named(list, home() / "scenarios" / "models", job.workload->model);
    add_file(list, job.workload->model);
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> input_hashes(const ScenarioFile& file, const RunSection& section) {
  std::vector<std::pair<std::string, std::string>> list;
  add_file(list, file.path);
  std::vector<std::string> gpus = section.sharing.devices;
  if (section.gpu) gpus.push_back(*section.gpu);
  for (const std::string& gpu : gpus) {
    add_named(list, home() / "platforms" / "gpus", gpu);
    add_file(list, gpu);
  }
  for (const TenantSection& tenant : section.tenants) {
    if (tenant.profile) add_file(list, *tenant.profile);
    if (tenant.arrivals && tenant.arrivals->trace) add_file(list, *tenant.arrivals->trace);
    if (!tenant.model) continue;
    add_named(list, home() / "scenarios" / "models", *tenant.model);
    add_file(list, *tenant.model);
  }
  if (section.jobs) add_jobs(list, section);
  return with_weights(std::move(list));
}

Json as_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return {};
    case Node::Kind::scalar:
      return scalar_as_json(node);
    case Node::Kind::sequence: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push(as_json(item));
      return list;
    }
    case Node::Kind::map: {
      Json object = Json::object();
      for (const auto& [key, value] : node.fields) object[key] = as_json(value);
      return object;
    }
  }
  return {};
}

}  // namespace tessera
