#include "sim/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/rng.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/catalogue.hpp"
#include "sim/cluster/checks.hpp"
#include "sim/cluster/fabric.hpp"

namespace tessera {

namespace {

/// A file of platforms/clusters.
struct ClusterFile {
  std::string node;
  int nodes = 1;
  FabricSpec fabric;
  std::string source;
  std::vector<LinkHealth> links;
  std::vector<GpuSpeed> gpu_speeds;
  double speed_jitter = 0;
  int jitter_seed = 1;
};

void known_name(Reader& r, std::string_view key, std::string_view name, std::string_view kind, std::string_view what) {
  if (!r.has(key)) return;
  if (std::string mistake = name_mistake(name, {kind}, what); !mistake.empty()) r.error(key, std::move(mistake));
}

/// What is said twice would count twice, or the last would win.
void each_once(Reader& r, const ClusterFile& cluster) {
  std::set<std::string> links;
  for (const LinkHealth& health : cluster.links)
    if (!links.insert(health.link).second) r.error("links", fmt::format("'{}' appears twice", health.link));
  std::set<int> gpus;
  for (const GpuSpeed& speed : cluster.gpu_speeds)
    if (!gpus.insert(speed.gpu).second) r.error("gpu_speeds", fmt::format("GPU {} appears twice", speed.gpu));
}

void describe(Reader& r, ClusterFile& cluster) {
  r.required("node", cluster.node, "a name in platforms/nodes, or a path ending in .yaml");
  known_name(r, "node", cluster.node, "nodes", "node");
  required_within(r, "nodes", cluster.nodes, kNodes, "how many; a scenario may ask for another number");
  r.required("fabric", cluster.fabric, "the network between the nodes");
  r.optional("links", cluster.links, "links that are weak or down");
  r.optional("gpu_speeds", cluster.gpu_speeds, "GPUs that compute slower or faster than their data sheet");
  optional_within(r, "speed_jitter", cluster.speed_jitter, kJitter, "relative standard deviation of the GPUs' speeds");
  r.optional("jitter_seed", cluster.jitter_seed, "of that deviation");
  r.optional("source", cluster.source, "where the figures are from");
  if (r.ok()) each_once(r, cluster);
}

void only_for(Reader& r, std::string_view key, bool applies, FabricKind kind) {
  if (r.has(key) && !applies) {
    r.error(key, fmt::format("does not apply to kind {}", enum_names(kind)[static_cast<std::size_t>(kind)]));
  }
}

/// The mistake at the value of a dotted key, or at the nearest map above it that is there.
Diagnostic at_key(const Document& document, const SpecProblem& problem) {
  const Node* node = &document.root;
  for (const std::string& key : split(problem.key, '.')) {
    const Node* below = node->find(key);
    if (below == nullptr) break;
    node = below;
  }
  return {.file = document.file,
          .line = node->line,
          .column = node->column,
          .message = fmt::format("{}: {}", problem.key, problem.message)};
}

struct NodeFile {
  NodeSpec node;
  GpuSpec gpu;
};

/// Resolves the GPU and what follows from it.
NodeFile resolve_node(const Document& document, const std::filesystem::path& path) {
  NodeFile file{read<NodeSpec>(document), {}};
  file.node.name = path.stem().string();
  file.gpu = read_gpu(find_description(file.node.gpu, {"gpus"}, "GPU", path));
  if (file.node.gpu_link == BytesPerSec()) {
    file.node.gpu_link = file.node.intra == IntraNode::pcie ? file.gpu.pcie_bandwidth : file.gpu.nvlink_bandwidth;
  }
  if (const auto problem = find_problem({.name = file.node.name, .node = file.node, .gpu = file.gpu})) {
    throw InputError(at_key(document, *problem));
  }
  return file;
}

NodeFile read_node(const std::filesystem::path& path) {
  return resolve_node(parse_document(path), path);
}

/// Fills open defaults of the fabric and rejects what cannot be built.
ClusterSpec checked(ClusterSpec cluster, const Document& document) {
  if (const auto problem = find_problem(cluster)) throw InputError(at_key(document, *problem));
  if (cluster.nodes == 1) return cluster;
  FabricSpec& fabric = cluster.fabric;
  fabric.link_bandwidth = switch_link(cluster);
  const bool tree = fabric.kind == FabricKind::rail_optimised || fabric.kind == FabricKind::fat_tree;
  if (tree) fabric.levels = clos_levels(cluster);
  return cluster;
}

ClusterSpec read_cluster(const Document& document, const std::filesystem::path& path, int nodes) {
  auto file = read<ClusterFile>(document);
  auto [node, gpu] = read_node(find_description(file.node, {"nodes"}, "node", path));
  return checked({.name = path.stem().string(),
                  .node = std::move(node),
                  .gpu = std::move(gpu),
                  .nodes = nodes > 0 ? nodes : file.nodes,
                  .fabric = std::move(file.fabric),
                  .source = std::move(file.source),
                  .links = std::move(file.links),
                  .gpu_speeds = std::move(file.gpu_speeds),
                  .speed_jitter = file.speed_jitter,
                  .jitter_seed = file.jitter_seed},
                 document);
}

}  // namespace

void describe(Reader& r, NodeSpec& node) {
  r.required("gpu", node.gpu, "a name in platforms/gpus, or a path ending in .yaml");
  known_name(r, "gpu", node.gpu, "gpus", "GPU");
  required_within(r, "gpus", node.gpus, kGpusPerNode, "of this kind in the node");
  optional_within(r, "gpus_per_host", node.gpus_per_host, kGpusPerNode,
                  "of one operating system; default: all, and 4 where more than 16 share an NVLink domain");
  r.required("intra", node.intra, "how they are joined");
  optional_within(r, "gpu_link", node.gpu_link, kBandwidth,
                  "one GPU's bandwidth to the others, one direction; default: its NVLink, with pcie its PCIe");
  optional_within(r, "gpu_link_latency", node.gpu_link_latency, kLatency, "GPU to GPU");
  optional_within(r, "nics", node.nics, kNics, "network ports of the node");
  optional_within(r, "nic_bandwidth", node.nic_bandwidth, kBandwidth, "of one NIC, one direction");
  if (r.ok() && node.nics > 0 && !r.has("nic_bandwidth")) r.error("nics", "nic_bandwidth is missing");
  optional_within(r, "nic_latency", node.nic_latency, kLatency, "GPU to wire, and wire to GPU");
  optional_within(r, "host_launch", node.host_launch, kLatency,
                  "CPU time to launch one kernel from an eager framework");
  optional_within(r, "device_malloc", node.device_malloc, kLatency, "CPU time of one cudaMalloc");
  optional_within(r, "host_power", node.host_power, kHostPower, "of the node without its GPUs, at full load");
  r.optional("source", node.source, "where the figures are from");
}

void describe(Reader& r, LinkHealth& health) {
  r.required("link", health.link, "its name (node0/nic1/out), or how names begin before a final *");
  required_within(r, "share", health.share, kShare, "of its bandwidth that is left; 0: it is down");
}

void describe(Reader& r, GpuSpeed& speed) {
  r.required("gpu", speed.gpu, "cluster-wide number, from 0");
  required_within(r, "speed", speed.speed, kSpeed, "relative to its data sheet");
}

double gpu_speed(const ClusterSpec& cluster, int gpu) {
  double speed = 1;
  for (const GpuSpeed& other : cluster.gpu_speeds) {
    if (other.gpu == gpu) speed = other.speed;
  }
  if (cluster.speed_jitter <= 0) return speed;
  Rng rng(static_cast<std::uint64_t>(cluster.jitter_seed), static_cast<std::uint64_t>(gpu) + 1);
  return std::max(kSpeed.low, speed * (1 + cluster.speed_jitter * rng.normal()));
}

void describe(Reader& r, FabricSpec& fabric) {
  r.required("kind", fabric.kind, "how the switches are joined");
  optional_within(r, "radix", fabric.radix, kRadix, "ports of a switch");
  optional_within(r, "levels", fabric.levels, kUnits,
                  "of switches, trees only; default: the fewest that hold the nodes");
  optional_within(r, "oversubscription", fabric.oversubscription, kOversubscription,
                  "bandwidth below a leaf over bandwidth above, trees only");
  optional_within(r, "link_bandwidth", fabric.link_bandwidth, kBandwidth,
                  "between switches, one direction; default: a node's port");
  optional_within(r, "hop_latency", fabric.hop_latency, kLatency, "through one switch");
  r.optional("up_path", fabric.up_path, "which way up a tree: by destination, or hashed (ECMP)");
  r.optional("torus", fabric.torus, "size of each dimension");
  if (std::any_of(fabric.torus.begin(), fabric.torus.end(), [](int size) { return size < 1; })) {
    r.error("torus", "every dimension must be more than 0");
  }
  if (!r.ok() || r.printing()) return;
  const bool tree = fabric.kind == FabricKind::rail_optimised || fabric.kind == FabricKind::fat_tree;
  only_for(r, "up_path", tree, fabric.kind);
  only_for(r, "levels", tree, fabric.kind);
  only_for(r, "oversubscription", tree, fabric.kind);
  only_for(r, "radix", tree || fabric.kind == FabricKind::dragonfly, fabric.kind);
  only_for(r, "torus", fabric.kind == FabricKind::torus, fabric.kind);
}

ClusterSpec find_cluster(std::string_view platform, int nodes) {
  if (nodes < 0) throw InputError(Diagnostic{.file = "", .message = "the number of nodes must be more than 0"});
  const std::filesystem::path path = find_description(platform, {"clusters", "nodes"}, "platform");
  const Document document = parse_document(path);
  if (document.root.find("node") != nullptr || document.root.find("fabric") != nullptr) {
    return read_cluster(document, path, nodes);
  }
  auto [node, gpu] = resolve_node(document, path);
  ClusterSpec cluster{.name = node.name, .node = std::move(node), .gpu = std::move(gpu), .nodes = std::max(nodes, 1)};
  if (nodes > 1) cluster.fabric.kind = FabricKind::rail_optimised;
  cluster.source = cluster.node.source;
  return checked(std::move(cluster), document);
}

ClusterSpec single_gpu(std::string_view gpu) {
  const std::filesystem::path path = find_description("pcie-host", {"nodes"}, "node");
  ClusterSpec cluster{.name = "", .node = read<NodeSpec>(parse_document(path)), .gpu = find_gpu(gpu)};
  cluster.name = cluster.gpu.name;
  cluster.node.name = path.stem().string();
  cluster.node.gpu = cluster.gpu.name;
  cluster.node.gpu_link = cluster.gpu.pcie_bandwidth;
  cluster.source = cluster.node.source;
  return cluster;
}

std::vector<std::string> known_platforms() {
  std::vector<std::string> names = catalogue("clusters");
  for (std::string& node : catalogue("nodes")) names.push_back(std::move(node));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tessera
