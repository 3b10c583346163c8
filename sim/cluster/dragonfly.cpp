// Balanced dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of fully joined routers, groups fully joined too.
#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/fabric.hpp"

namespace tessera {

namespace {

/// p node ports, a routers per group and h global links per router with a = 2p = 2h.
struct Shape {
  std::int64_t nodes_per_router, routers, globals, groups;
};

Shape make_shape(const ClusterSpec& spec) {
  const std::int64_t p = spec.fabric.radix / 4;
  const std::int64_t ports = std::int64_t{spec.nodes} * spec.node.ports();
  Shape shape{.nodes_per_router = p, .routers = 2 * p, .globals = p, .groups = 1};
  shape.groups = (ports + p * shape.routers - 1) / (p * shape.routers);
  if (shape.groups == 1) shape.routers = (ports + p - 1) / p;
  return shape;
}

std::int64_t max_groups(const Shape& shape) {
  return shape.routers * shape.globals + 1;
}

/// Minimal routes: local, global, local. Parallel links between two groups are shared out by the routers at both ends.
/// Not modelled: Valiant and adaptive routing.
class Dragonfly final : public Fabric {
 public:
  Dragonfly(const ClusterSpec& spec, LinkTable& table);
  void route(int from, int to, std::size_t attempt, std::vector<LinkId>& path) const override;
  [[nodiscard]] std::uint32_t switch_of(int port) const override {
    return first_vertex_ + static_cast<std::uint32_t>(static_cast<std::size_t>(port) / per_router_);
  }

 private:
  /// How far group `to` is from `from` around the ring of groups, less one: numbers the links of `from`.
  [[nodiscard]] std::size_t offset(std::size_t from, std::size_t to) const {
    return (to + groups_ - from) % groups_ - 1;
  }
  /// The router of `from` that holds link `parallel` to group `to`.
  [[nodiscard]] std::size_t gateway(std::size_t from, std::size_t to, std::size_t parallel) const {
    return (offset(from, to) + parallel * (groups_ - 1)) % routers_;
  }
  [[nodiscard]] std::size_t local(std::size_t group, std::size_t from, std::size_t to) const {
    return first_local_ + (group * routers_ + from) * (routers_ - 1) + (to < from ? to : to - 1);
  }
  [[nodiscard]] std::size_t global(std::size_t from, std::size_t to, std::size_t parallel) const {
    return first_global_ + (from * (groups_ - 1) + offset(from, to)) * parallel_ + parallel;
  }
  void add_locals(const ClusterSpec& spec, LinkTable& table);
  void add_globals(const ClusterSpec& spec, LinkTable& table);
  [[nodiscard]] std::uint32_t vertex(std::size_t group, std::size_t router) const {
    return first_vertex_ + static_cast<std::uint32_t>(group * routers_ + router);
  }

  std::size_t per_router_, routers_, groups_, parallel_ = 0;
  std::size_t first_local_ = 0, first_global_ = 0;
  std::uint32_t first_vertex_;
};

Dragonfly::Dragonfly(const ClusterSpec& spec, LinkTable& table) {
  const Shape shape = make_shape(spec);
  per_router_ = static_cast<std::size_t>(shape.nodes_per_router);
  routers_ = static_cast<std::size_t>(shape.routers);
  groups_ = static_cast<std::size_t>(shape.groups);
  if (groups_ > 1) parallel_ = static_cast<std::size_t>(shape.routers * shape.globals / (shape.groups - 1));
  first_vertex_ = table.add_vertices(groups_ * routers_);
  first_local_ = table.next();
  add_locals(spec, table);
  first_global_ = table.next();
  if (groups_ > 1) add_globals(spec, table);
}

void Dragonfly::add_locals(const ClusterSpec& spec, LinkTable& table) {
  for (std::size_t group = 0; group < groups_; ++group) {
    for (std::size_t from = 0; from < routers_; ++from) {
      for (std::size_t to = 0; to < routers_; ++to) {
        if (from == to) continue;
        table.add({fmt::format("group{}/router{}/to-router{}", group, from, to), switch_link(spec),
                   spec.fabric.hop_latency, vertex(group, from), vertex(group, to)});
      }
    }
  }
}

void Dragonfly::add_globals(const ClusterSpec& spec, LinkTable& table) {
  for (std::size_t from = 0; from < groups_; ++from) {
    for (std::size_t step = 1; step < groups_; ++step) {
      const std::size_t to = (from + step) % groups_;
      for (std::size_t parallel = 0; parallel < parallel_; ++parallel) {
        const std::size_t out = gateway(from, to, parallel), in = gateway(to, from, parallel);
        table.add({fmt::format("group{}/router{}/to-group{}.{}", from, out, to, parallel), switch_link(spec),
                   spec.fabric.hop_latency, vertex(from, out), vertex(to, in)});
      }
    }
  }
}

void Dragonfly::route(int from, int to, std::size_t /*attempt*/, std::vector<LinkId>& path) const {
  const std::size_t source = static_cast<std::size_t>(from) / per_router_;
  const std::size_t target = static_cast<std::size_t>(to) / per_router_;
  if (source == target) return;
  const std::size_t here = source / routers_, there = target / routers_;
  const std::size_t first = source % routers_, last = target % routers_;
  if (here == there) {
    path.push_back(link_id(local(here, first, last)));
    return;
  }
  const std::size_t parallel = (first + last) % parallel_;  // the same both ways
  const std::size_t out = gateway(here, there, parallel), in = gateway(there, here, parallel);
  if (first != out) path.push_back(link_id(local(here, first, out)));
  path.push_back(link_id(global(here, there, parallel)));
  if (in != last) path.push_back(link_id(local(there, in, last)));
}

}  // namespace

std::optional<SpecProblem> dragonfly_problem(const ClusterSpec& spec) {
  const Shape shape = make_shape(spec);
  if (shape.groups <= max_groups(shape)) return std::nullopt;
  return SpecProblem{"fabric.radix",
                     fmt::format("a dragonfly of {}-port switches joins {} ports at most, {} nodes have {}",
                                 spec.fabric.radix, max_groups(shape) * shape.routers * shape.nodes_per_router,
                                 spec.nodes, std::int64_t{spec.nodes} * spec.node.ports())};
}

std::unique_ptr<const Fabric> make_dragonfly(const ClusterSpec& spec, LinkTable& table) {
  return std::make_unique<Dragonfly>(spec, table);
}

}  // namespace tessera
