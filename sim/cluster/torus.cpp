// A torus of nodes: every node has a router with a link each way along each dimension.
#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/fabric.hpp"

namespace tessera {

namespace {

/// Dimension-order routes, the shorter way around, ties upwards. Not modelled: adaptive routing.
class Torus final : public Fabric {
 public:
  Torus(const ClusterSpec& spec, LinkTable& table);
  void route(int from, int to, std::size_t attempt, std::vector<LinkId>& path) const override;
  [[nodiscard]] std::uint32_t switch_of(int port) const override {
    return first_vertex_ + static_cast<std::uint32_t>(static_cast<std::size_t>(port) / ports_);
  }

 private:
  struct Dimension {
    std::size_t size, stride;
    std::size_t offset;  // of its links among a router's
  };
  /// Two neighbours have one link each way, not two.
  static std::size_t ways(std::size_t size) { return size > 2 ? 2 : size - 1; }
  [[nodiscard]] static std::size_t neighbour(std::size_t router, const Dimension& d, bool upwards) {
    const std::size_t here = router / d.stride % d.size;
    const std::size_t there = (here + (upwards ? 1 : d.size - 1)) % d.size;
    return router + there * d.stride - here * d.stride;
  }

  std::size_t ports_, per_router_ = 0, first_link_ = 0;
  std::uint32_t first_vertex_ = 0;
  std::vector<Dimension> dimensions_;
};

Torus::Torus(const ClusterSpec& spec, LinkTable& table) : ports_(static_cast<std::size_t>(spec.node.ports())) {
  const auto nodes = static_cast<std::size_t>(spec.nodes);
  std::size_t stride = 1;
  for (const int size : spec.fabric.torus) {
    dimensions_.push_back({static_cast<std::size_t>(size), stride, per_router_});
    stride *= dimensions_.back().size;
    per_router_ += ways(dimensions_.back().size);
  }
  first_vertex_ = table.add_vertices(nodes);
  first_link_ = table.next();
  for (std::size_t router = 0; router < nodes; ++router) {
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      for (std::size_t way = 0; way < ways(dimensions_[i].size); ++way) {
        const std::size_t other = neighbour(router, dimensions_[i], way == 0);
        table.add({fmt::format("router{}/dim{}{}", router, i, way == 0 ? '+' : '-'), switch_link(spec),
                   spec.fabric.hop_latency, first_vertex_ + static_cast<std::uint32_t>(router),
                   first_vertex_ + static_cast<std::uint32_t>(other)});
      }
    }
  }
}

void Torus::route(int from, int to, std::size_t /*attempt*/, std::vector<LinkId>& path) const {
  std::size_t router = static_cast<std::size_t>(from) / ports_;
  const std::size_t target = static_cast<std::size_t>(to) / ports_;
  for (const Dimension& d : dimensions_) {
    const std::size_t there = target / d.stride % d.size;
    const std::size_t ahead = (there + d.size - router / d.stride % d.size) % d.size;
    const bool upwards = 2 * ahead <= d.size;
    while (router / d.stride % d.size != there) {
      path.push_back(link_id(first_link_ + router * per_router_ + d.offset + (upwards ? 0 : 1)));
      router = neighbour(router, d, upwards);
    }
  }
}

}  // namespace

std::optional<SpecProblem> torus_problem(const ClusterSpec& spec) {
  std::int64_t product = 1;
  for (const int size : spec.fabric.torus) product = std::min<std::int64_t>(product * size, 1 << 30);
  if (product == spec.nodes) return std::nullopt;
  return SpecProblem{"fabric.torus", fmt::format("{} joins {} nodes, the cluster has {}",
                                                 fmt::join(spec.fabric.torus, " x "), product, spec.nodes)};
}

std::unique_ptr<const Fabric> make_torus(const ClusterSpec& spec, LinkTable& table) {
  return std::make_unique<Torus>(spec, table);
}

}  // namespace tessera
