#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/interconnect.hpp"

namespace tessera {

namespace {

std::unique_ptr<const Fabric> make_fabric(const ClusterSpec& spec, LinkTable& table) {
  switch (spec.fabric.kind) {
    case FabricKind::rail_optimised:
    case FabricKind::fat_tree:
      return make_clos(spec, table);
    case FabricKind::dragonfly:
      return make_dragonfly(spec, table);
    case FabricKind::torus:
      return make_torus(spec, table);
    case FabricKind::none:
      break;
  }
  return nullptr;
}

// Far beyond any machine; keeps a slip of the keyboard from asking for all of the memory.
constexpr int kMaxGpusPerNode = 1024;
constexpr std::int64_t kMaxGpus = 1'000'000;
constexpr int kMaxRadix = 1024;
constexpr std::size_t kAttempts = 1024;  // ways around a link that is down: no switch has more up-ports

std::optional<SpecProblem> node_problem(const NodeSpec& node) {
  if (node.gpus < 1) return SpecProblem{"gpus", "must be more than 0"};
  if (node.gpus > kMaxGpusPerNode) return SpecProblem{"gpus", fmt::format("more than {}", kMaxGpusPerNode)};
  if (node.intra == IntraNode::hybrid_cube_mesh && node.gpus != 8) {
    return SpecProblem{"intra", fmt::format("a hybrid cube mesh joins 8 GPUs, the node has {}", node.gpus)};
  }
  if (node.gpus > 1 && !(node.gpu_link > BytesPerSec())) {
    return SpecProblem{"gpu_link", fmt::format("{} has no link of its own to others: give gpu_link, or intra: pcie",
                                               node.gpu.empty() ? "the GPU" : node.gpu)};
  }
  if (node.nics > 0 && node.nics % node.gpus != 0 && node.gpus % node.nics != 0) {
    return SpecProblem{"nics", fmt::format("{} NICs cannot be shared out evenly over {} GPUs", node.nics, node.gpus)};
  }
  return std::nullopt;
}

std::optional<SpecProblem> fabric_problem(const ClusterSpec& spec) {
  if (spec.node.nics < 1 || !(spec.node.nic_bandwidth > BytesPerSec())) {
    return SpecProblem{"nodes",
                       fmt::format("{} nodes, but node '{}' has no NICs to join them", spec.nodes, spec.node.name)};
  }
  if (spec.fabric.radix > kMaxRadix) return SpecProblem{"fabric.radix", fmt::format("more than {}", kMaxRadix)};
  switch (spec.fabric.kind) {
    case FabricKind::none:
      return SpecProblem{"fabric.kind", fmt::format("{} nodes need a fabric", spec.nodes)};
    case FabricKind::rail_optimised:
    case FabricKind::fat_tree:
      return clos_problem(spec);
    case FabricKind::dragonfly:
      return dragonfly_problem(spec);
    case FabricKind::torus:
      return torus_problem(spec);
  }
  return std::nullopt;
}

}  // namespace

std::optional<SpecProblem> find_problem(const ClusterSpec& cluster) {
  if (cluster.nodes < 1) return SpecProblem{"nodes", "must be more than 0"};
  for (const GpuSpeed& speed : cluster.gpu_speeds) {
    if (speed.gpu < 0 || std::int64_t{speed.gpu} >= std::int64_t{cluster.nodes} * cluster.node.gpus)
      return SpecProblem{"gpu_speeds", fmt::format("the cluster has no GPU {}", speed.gpu)};
  }
  if (auto problem = node_problem(cluster.node)) return problem;
  if (std::int64_t{cluster.nodes} * cluster.node.gpus > kMaxGpus) {
    return SpecProblem{
        "nodes", fmt::format("{} nodes of {} GPUs are more than {} GPUs", cluster.nodes, cluster.node.gpus, kMaxGpus)};
  }
  return cluster.nodes > 1 ? fabric_problem(cluster) : std::nullopt;
}

BytesPerSec switch_link(const ClusterSpec& spec) {
  return spec.fabric.link_bandwidth > BytesPerSec() ? spec.fabric.link_bandwidth : spec.node.port_bandwidth();
}

Topology::Topology(const ClusterSpec& spec)
    : gpus_(spec.gpus()),
      gpus_per_node_(spec.node.gpus),
      ports_(spec.node.ports()),
      rails_(spec.fabric.kind == FabricKind::rail_optimised) {
  if (const auto problem = find_problem(spec)) {
    throw InputError(Diagnostic{.file = spec.name, .message = fmt::format("{}: {}", problem->key, problem->message)});
  }
  LinkTable table{links_};
  table.add_vertices(static_cast<std::size_t>(gpus_));
  inside_ = std::make_unique<Interconnect>(spec, table);
  if (spec.nodes == 1) {
    apply_health(spec);
    return;
  }
  between_ = make_fabric(spec, table);
  first_port_link_ = table.next();
  const Seconds latency = spec.node.nic_latency + spec.fabric.hop_latency;
  for (int port = 0; port < spec.nodes * ports_; ++port) {
    const std::uint32_t host = inside_->host(port / ports_), there = between_->switch_of(port);
    const std::string name = fmt::format("node{}/nic{}", port / ports_, port % ports_);
    table.add({name + "/out", spec.node.port_bandwidth(), latency, host, there});
    table.add({name + "/in", spec.node.port_bandwidth(), spec.node.nic_latency, there, host});
  }
  apply_health(spec);
}

/// Weakens links; finds those that are down.
void Topology::apply_health(const ClusterSpec& spec) {
  std::map<std::size_t, std::string> named;
  for (const LinkHealth& health : spec.links) {
    const bool prefix = health.link.ends_with('*');
    const std::string_view begin = std::string_view(health.link).substr(0, health.link.size() - (prefix ? 1 : 0));
    bool found = false;
    for (std::size_t l = 0; l < links_.size(); ++l) {
      if (prefix ? !links_[l].name.starts_with(begin) : links_[l].name != begin) continue;
      found = true;
      if (const auto [before, fresh] = named.try_emplace(l, health.link); !fresh)
        throw InputError(Diagnostic{.file = spec.name,
                                    .message = fmt::format("links: '{}' and '{}' both name {}; keep one",
                                                           before->second, health.link, links_[l].name)});
      if (health.share > 0) {
        links_[l].bandwidth *= health.share;
      } else {
        down_.resize(links_.size());
        down_[l] = true;
      }
    }
    if (found) continue;
    std::vector<std::string> names;
    for (const Link& link : links_) names.push_back(link.name);
    throw InputError(Diagnostic{
        .file = spec.name,
        .message = fmt::format("links: no link named '{}'{}", health.link, did_you_mean(health.link, names))});
  }
}

Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

std::vector<std::vector<int>> Topology::rings(std::span<const int> gpus) const {
  if (gpus.size() < 2) return {{gpus.begin(), gpus.end()}};
  const int first = gpus.front() / gpus_per_node_ * gpus_per_node_;
  std::vector<int> local;
  for (const int gpu : gpus) {
    TESSERA_ASSERT(first <= gpu && gpu < first + gpus_per_node_, "a ring is laid inside one node");
    local.push_back(gpu - first);
  }
  std::vector<std::vector<int>> rings = inside_->rings(local);
  for (std::vector<int>& ring : rings) {
    for (int& gpu : ring) gpu += first;
  }
  return rings;
}

std::vector<LinkId> Topology::path(int from, int to) const {
  std::vector<LinkId> found = path(from, to, 0);
  if (down_.empty()) return found;
  const auto dead = [&](const std::vector<LinkId>& links) {
    return std::ranges::find_if(links, [&](LinkId id) { return down_[static_cast<std::size_t>(id)]; });
  };
  for (std::size_t attempt = 1; attempt < kAttempts && dead(found) != found.end(); ++attempt)
    found = path(from, to, attempt);
  const auto broken = dead(found);
  if (broken == found.end()) return found;
  throw RunError(
      fmt::format("GPU {} cannot reach GPU {}: link {} is down and there is no way around; place the ranks "
                  "elsewhere, or repair it under `links` of the cluster",
                  from, to, links_[static_cast<std::size_t>(*broken)].name));
}

std::vector<LinkId> Topology::path(int from, int to, std::size_t attempt) const {
  TESSERA_ASSERT(0 <= from && from < gpus_ && 0 <= to && to < gpus_, "no such GPU");
  std::vector<LinkId> path;
  if (from == to) return path;
  const int source = from / gpus_per_node_, target = to / gpus_per_node_;
  int gpu = from % gpus_per_node_;
  const int peer = to % gpus_per_node_;
  if (source == target) {
    inside_->path(source, gpu, peer, path);
    return path;
  }
  const auto port = [&](int node, int local) { return node * ports_ + local * ports_ / gpus_per_node_; };
  const auto port_link = [&](int index, std::size_t in) {
    return link_id(first_port_link_ + 2 * static_cast<std::size_t>(index) + in);
  };
  // To another rail: first inside the node to the GPU on that rail, as NCCL does (PXN).
  if (rails_ && inside_->direct() && port(0, gpu) != port(0, peer)) {
    inside_->path(source, gpu, peer, path);
    gpu = peer;
  }
  const int out = port(source, gpu), in = port(target, peer);
  path.push_back(inside_->to_host(source, gpu));
  path.push_back(port_link(out, 0));
  between_->route(out, in, attempt, path);
  path.push_back(port_link(in, 1));
  path.push_back(inside_->from_host(target, peer));
  return path;
}

}  // namespace tessera
