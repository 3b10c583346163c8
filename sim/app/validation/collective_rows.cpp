#include "sim/app/validation/collective_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "models/collectives/tuner.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kKinds{
    {{"all_reduce", CollectiveKind::all_reduce},
     {"all_gather", CollectiveKind::all_gather},
     {"reduce_scatter", CollectiveKind::reduce_scatter},
     {"alltoall", CollectiveKind::all_to_all},
     {"send_recv", CollectiveKind::send_recv}}};
constexpr double kLeastBytes = 1, kMostBytes = 1e15;

CollectiveKind read_kind(RowReader& row) {
  const std::string_view name = row.need("collective");
  std::vector<std::string> names;
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
    names.emplace_back(known);
  }
  if (!name.empty())
    row.mistake("collective", fmt::format("unknown collective '{}'{}", name, did_you_mean(name, names)));
  return CollectiveKind::all_reduce;
}

struct CollectiveRow {
  const ClusterSpec* platform = nullptr;
  CollectiveKind kind = CollectiveKind::all_reduce;
  int gpus = 1, nodes = 1;
  Bytes bytes{};
  bool summable = true;
};

/// Nodes of the platform that the row's hosts are.
int nodes_of(const NodeSpec& node, std::int64_t hosts) {
  const std::int64_t gpus = hosts * node.host_gpus();
  return static_cast<int>((gpus + node.gpus - 1) / node.gpus);
}

/// Whether switches sum the row's type; none is given by sets that do not say it.
bool read_summable(RowReader& row) {
  const std::string_view name = row.text("dtype");
  const auto dtype = name.empty() ? std::optional(Dtype::fp32) : parse_dtype(name);
  if (dtype) return *dtype != Dtype::int8;
  std::vector<std::string> names;
  for (const Dtype known : kDtypes) names.emplace_back(to_string(known));
  row.mistake("dtype", fmt::format("unknown dtype '{}'{}", name, did_you_mean(name, names)));
  return true;
}

CollectiveRow read_collective_row(RowReader& row, Catalogue& catalogue) {
  CollectiveRow result;
  result.platform = catalogue.platform(row);
  result.kind = read_kind(row);
  result.summable = read_summable(row);
  const std::int64_t gpus = row.need_integer("n_gpus"), hosts = row.integer("n_nodes", 1);
  const std::int64_t bytes = row.need_integer("message_bytes");
  result.bytes = Bytes(static_cast<double>(bytes));
  if (static_cast<double>(bytes) < kLeastBytes || static_cast<double>(bytes) > kMostBytes)
    row.mistake("message_bytes", fmt::format("expected 1 to {:.0e} bytes, found {}", kMostBytes, bytes));
  if (result.platform == nullptr || row.text("n_gpus").empty()) return result;
  const NodeSpec& node = result.platform->node;
  if (hosts < 1 || gpus < 2 || gpus % hosts != 0 || gpus / hosts > node.host_gpus()) {
    row.mistake("n_gpus",
                fmt::format("expected 2 or more, equally many on each of {} nodes and at most {} there, found {}",
                            hosts, node.host_gpus(), gpus));
    return result;
  }
  result.gpus = static_cast<int>(gpus);
  result.nodes = nodes_of(node, hosts);
  return result;
}

/// Shapes of groups, each found once.
class Shapes {
 public:
  /// What the platform's nodes cannot do is an InputError.
  const GroupShape& of(const CollectiveRow& row) {
    const Key key{row.platform->name, row.nodes, row.gpus, row.kind};
    const auto found = shapes_.find(key);
    if (found != shapes_.end()) return found->second;
    const Network& network = of_nodes(*row.platform, row.nodes);
    return shapes_.emplace(key, shape_of(gpus_of(row, network.cluster), row.kind, network.cluster, network.topology))
        .first->second;
  }

 private:
  using Key = std::tuple<std::string, int, int, CollectiveKind>;
  struct Network {
    ClusterSpec cluster;
    Topology topology;
  };

  /// The first GPUs of each node, equally many where they can be.
  static std::vector<int> gpus_of(const CollectiveRow& row, const ClusterSpec& cluster) {
    std::vector<int> gpus;
    const int most = (row.gpus + row.nodes - 1) / row.nodes;
    for (int node = 0; node < row.nodes; ++node) {
      const int here = std::min(most, row.gpus - static_cast<int>(gpus.size()));
      for (int gpu = 0; gpu < here; ++gpu) gpus.push_back(node * cluster.node.gpus + gpu);
    }
    return gpus;
  }

  const Network& of_nodes(const ClusterSpec& platform, int nodes) {
    std::unique_ptr<Network>& network = networks_[{platform.name, nodes}];
    if (!network) {
      ClusterSpec cluster = nodes <= platform.nodes ? platform : find_cluster(platform.name, nodes);
      Topology topology(cluster);
      network = std::make_unique<Network>(std::move(cluster), std::move(topology));
    }
    return *network;
  }

  std::map<Key, GroupShape> shapes_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Network>> networks_;
};

Outcome outcome_of(const CollectiveCost& cost, const CollectiveParameters& parameters, const std::string& name) {
  const CollectiveBar& bar = parameters.bar_of(name);
  const bool seen = parameters.classes.contains(name);
  return {.prediction = Prediction{{cost.time * std::exp(bar.p10), cost.time, cost.time * std::exp(bar.p90)},
                                   seen ? Provenance::fitted : Provenance::extrapolated},
          .unsupported = {}};
}

}  // namespace

std::vector<Outcome> predict_collective_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                             const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                             const CollectiveParameters& parameters, Mistakes& mistakes) {
  const CollectiveModel model(parameters);
  std::vector<Outcome> outcomes(rows.size());
  Shapes shapes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t before = mistakes.count();
    RowReader reader(table, rows[i], defaults, mistakes);
    const CollectiveRow row = read_collective_row(reader, catalogue);
    if (mistakes.count() != before) continue;
    try {
      const GroupShape& shape = shapes.of(row);
      outcomes[i] = outcome_of(model.cost(row.kind, row.bytes, shape, row.summable), parameters, shape.machine_class);
    } catch (const InputError& error) {
      reader.mistake("platform", error.diagnostics().front().message);
    }
  }
  return outcomes;
}

}  // namespace tessera
