#include "sim/place/pipeline/phaze_file.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/config/json.hpp"

namespace tessera {
namespace {

using PlaceOfId = std::map<std::int64_t, int>;

/// Kahn's order, the smallest id first.
std::optional<std::vector<int>> topological_ids(const Json& nodes, const Json& edges) {
  std::map<std::int64_t, int> open;
  for (const Json& node : nodes.items()) open[node.at("id").integer()] = 0;
  for (const Json& edge : edges.items()) ++open[edge.at("destId").integer()];
  std::vector<int> order;
  while (!open.empty()) {
    const auto next = std::ranges::find_if(open, [](const auto& entry) { return entry.second == 0; });
    if (next == open.end()) return std::nullopt;
    const std::int64_t id = next->first;
    order.push_back(static_cast<int>(id));
    open.erase(next);
    for (const Json& edge : edges.items())
      if (edge.at("sourceId").integer() == id) --open[edge.at("destId").integer()];
  }
  return order;
}

LayerCost layer_cost(const Json& node) {
  return {.forward = Seconds(node.at("optimalLatencyFw").number()),
          .backward = Seconds(node.at("optimalLatencyBw").number()),
          .parameters = Bytes(node.at("parameterSize").number()),
          .activations = Bytes(node.at("activationSize").number()),
          .tensor_parallel = node.at("isTensorParallelized").boolean()};
}

int place(const PlaceOfId& places, const Json& id, const std::string& width) {
  const auto found = places.find(id.integer());
  if (found == places.end()) throw RunError(fmt::format("width {}: there is no layer {}", width, id.integer()));
  return found->second;
}

WidthProfile profile(const std::string& width, const Json& nodes, const Json& edges, const PlaceOfId& places) {
  WidthProfile result;
  const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), result.width);
  if (error != std::errc() || end != width.data() + width.size())
    throw RunError(fmt::format("'{}' is no tensor width", width));
  result.layers.resize(places.size());
  for (const Json& node : nodes.items())
    result.layers[static_cast<std::size_t>(place(places, node.at("id"), width))] = layer_cost(node);
  for (const Json& edge : edges.items())
    result.edges.push_back({place(places, edge.at("sourceId"), width), place(places, edge.at("destId"), width),
                            Bytes(edge.at("communicationCost").number())});
  return result;
}

PhazeProblem convert(const Json& json) {
  PhazeProblem result;
  PipelineProblem& problem = result.problem;
  const Json& nodes = json.at("nodes");
  if (nodes.fields().empty()) throw RunError("no nodes");
  const std::string& first = nodes.fields().front().first;
  const auto order = topological_ids(nodes.at(first), json.at("edges").at(first));
  if (!order) throw RunError("the edges form a cycle");
  result.ids = *order;
  PlaceOfId places;
  for (const int id : result.ids) places.emplace(id, static_cast<int>(places.size()));
  for (const auto& [width, layers] : nodes.fields())
    problem.widths.push_back(profile(width, layers, json.at("edges").at(width), places));
  std::ranges::sort(problem.widths, {}, &WidthProfile::width);
  const auto devices = static_cast<int>(json.at("maxDevices").number());
  problem.pools = {{"", devices, Bytes(json.at("maxMemoryPerDevice").number())}};
  problem.network = {{devices, BytesPerSec(json.at("bandwidth").number()), Seconds(0)}};
  problem.micro_batches = static_cast<std::int64_t>(json.at("mbsInBatch").number());
  const bool adam = json.at("optimizerAlgorithm").text() == "Adam";
  problem.optimizer = adam ? PipelineOptimizer::adam : PipelineOptimizer::sgd;
  problem.recomputation = json.at("activationRecomputation").boolean();
  const auto count = [&](const char* key) { return static_cast<int>(json.at(key).number()); };
  result.expert = {count("fixedPP"), count("fixedTMPC"), count("fixedDP"), count("numTransformerLayers")};
  if (std::string error = problem_error(problem); !error.empty()) throw RunError(error);
  return result;
}

}  // namespace

PhazeProblem read_phaze_problem(const std::filesystem::path& path) {
  const Json json = read_json(path);
  try {
    return convert(json);
  } catch (const RunError& error) {
    throw InputError(Diagnostic{path.string(), 0, 0, error.what()});
  }
}

}  // namespace tessera
