#include "tests/validation/phaze_layers.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/base/error.hpp"
#include "sim/config/json.hpp"

namespace tessera {

namespace {

struct NamedGraph {
  OperatorGraph graph;
  std::map<std::string, std::size_t> index;
};

CoreClass core_of(const std::string& name) {
  if (name == "TC") return CoreClass::tensor;
  if (name == "VC") return CoreClass::vector;
  if (name == "TCandVC") return CoreClass::fused;
  if (name == "Nop") return CoreClass::none;
  throw RunError("core class " + name);
}

NamedGraph graph_of(const Json& layer, std::string_view edges) {
  NamedGraph result;
  for (const Json& node : layer.at("nodes").items()) {
    result.index.emplace(node.at("id").text(), result.graph.core.size());
    result.graph.core.push_back(core_of(node.at("core").text()));
  }
  for (const Json& edge : layer.at(edges).items()) {
    if (edge.items()[0].text() == edge.items()[1].text())
      continue;  // the recorded source and sink have one to themselves
    result.graph.edges.push_back({static_cast<int>(result.index.at(edge.items()[0].text())),
                                  static_cast<int>(result.index.at(edge.items()[1].text()))});
  }
  return result;
}

}  // namespace

std::vector<RecordedLayer> recorded_layers(const std::filesystem::path& folder) {
  std::vector<RecordedLayer> layers;
  for (const int mbs : {1, 2, 4, 8}) {
    const Json graphs = read_json(folder / fmt::format("graph_mbs{}.json", mbs));
    const Json chips = read_json(folder / fmt::format("latency_mbs{}.json", mbs));
    for (const Json& chip : chips.items()) {
      const Json& arch = chip.at("arch");
      const Cores cores{static_cast<int>(arch.at("num_tc").integer()), static_cast<int>(arch.at("num_vc").integer())};
      for (const auto& [id, latencies] : chip.at("latency_seconds").fields()) {
        for (const std::size_t backward : {0u, 1u}) {
          const NamedGraph graph = graph_of(graphs.at(id), backward ? "edges_bwd" : "edges_fwd");
          RecordedLayer layer{.name = fmt::format("mbs {} chip {}+{} x{} layer {} {}", mbs, cores.tensor, cores.vector,
                                                  arch.at("width").integer(), id, backward ? "bwd" : "fwd"),
                              .order = OperatorOrder(graph.graph),
                              .latency = std::vector<OperatorLatency>(graph.graph.core.size()),
                              .cores = cores,
                              .makespan = Seconds(chip.at("best_makespan").at(id).items()[backward].number()),
                              .bound = Seconds(chip.at("lower_bound").at(id).items()[backward].number())};
          for (const auto& [op, pair] : latencies.fields()) {
            const Json::Array& both = pair.at(backward ? "bwd" : "fwd").items();
            layer.latency[graph.index.at(op)] = {Seconds(both[0].number()), Seconds(both[1].number())};
          }
          layers.push_back(std::move(layer));
        }
      }
    }
  }
  return layers;
}

}  // namespace tessera
