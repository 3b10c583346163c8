// Folded Clos networks of any number of levels, as extended generalised fat trees (Ohring et al., IPPS 1995).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/cluster/fabric.hpp"

namespace tessera {

namespace {

constexpr int kMaxLevels = 5;

/// How the ports of every switch are used.
struct Shape {
  int levels = 2;
  std::int64_t down = 0, up = 0;  // ports of a leaf towards the nodes and the next level; 0: no such split
  std::int64_t half = 0;          // ports of a middle switch each way
  std::int64_t leaves = 0;
  /// Leaves under one switch of a level.
  [[nodiscard]] std::int64_t leaves_below(int level, int radix) const {
    if (level == 0) return 1;
    std::int64_t below = level == levels - 1 ? radix : half;
    for (int i = 1; i < level; ++i) below *= half;
    return below;
  }
};

/// The largest leaf whose whole ports have the wanted ratio of down to up.
void split_leaf(Shape& shape, int radix, double ratio) {
  for (auto down = static_cast<std::int64_t>(radix * ratio / (1 + ratio) + 1e-9); down > 0; --down) {
    const double up = static_cast<double>(down) / ratio;
    if (std::round(up) < 1 || std::abs(up - std::round(up)) > 1e-9 * up) continue;
    shape.down = down;
    shape.up = std::llround(up);
    return;
  }
}

Shape make_shape(const ClusterSpec& spec, int levels) {
  const FabricSpec& fabric = spec.fabric;
  Shape shape{.levels = levels, .half = fabric.radix / 2};
  if (levels == 1) {
    shape.down = fabric.radix;
  } else {
    split_leaf(shape, fabric.radix, fabric.oversubscription * (switch_link(spec) / spec.node.port_bandwidth()));
  }
  if (shape.down == 0) return shape;
  const std::int64_t ports = spec.node.ports(), nodes = spec.nodes;
  const bool rails = fabric.kind == FabricKind::rail_optimised;
  shape.leaves = rails ? (nodes + shape.down - 1) / shape.down * ports : (nodes * ports + shape.down - 1) / shape.down;
  return shape;
}

bool holds(const Shape& shape, const ClusterSpec& spec) {
  if (shape.down == 0) return false;
  const bool rails = spec.fabric.kind == FabricKind::rail_optimised;
  const std::int64_t separate = shape.levels == 1 && rails ? spec.node.ports() : 1;
  return shape.leaves <= separate * shape.leaves_below(shape.levels - 1, spec.fabric.radix);
}

/// Spreads two ports over 62 bits (the finaliser of SplitMix64, Steele et al. 2014), as a switch hashes a flow's ends.
std::size_t hash_of(int from, int to) {
  std::uint64_t x = (static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)) + 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::size_t>((x ^ (x >> 31)) >> 2);
}

/// Static routing by destination (D-mod-k, Zahavi 2010): up-port i of level l serves destinations with digit i, so
/// shifts of a full tree do not collide; or hashed by both ends, where flows collide as by chance. Not modelled:
/// adaptive routing, in-network reduction.
class Clos final : public Fabric {
 public:
  Clos(const ClusterSpec& spec, const Shape& shape, LinkTable& table);
  void route(int from, int to, std::size_t attempt, std::vector<LinkId>& path) const override;
  [[nodiscard]] std::uint32_t switch_of(int port) const override;

 private:
  struct Level {
    std::size_t leaves_below = 1;  // leaves under one switch
    std::size_t subtrees = 1;      // groups of switches with the same leaves below
    std::size_t width = 1;         // switches of one subtree
    std::size_t up = 0;            // up-ports of a switch
    std::size_t first_link = 0;    // up and down links alternate, ordered by subtree, switch, port
    std::uint32_t first_vertex = 0;
  };
  void add_links(const Level& level, const Level& above, std::size_t index, LinkTable& table, const ClusterSpec& spec);
  [[nodiscard]] std::string switch_name(std::size_t level, std::size_t subtree, std::size_t position) const;
  [[nodiscard]] std::size_t leaf_of(int port) const;
  [[nodiscard]] std::size_t slot_of(int port) const;

  bool rails_, hashed_;
  std::size_t ports_, down_;
  std::vector<Level> levels_;
};

Clos::Clos(const ClusterSpec& spec, const Shape& shape, LinkTable& table)
    : rails_(spec.fabric.kind == FabricKind::rail_optimised),
      hashed_(spec.fabric.up_path == UpPath::hashed),
      ports_(static_cast<std::size_t>(spec.node.ports())),
      down_(static_cast<std::size_t>(shape.down)) {
  const auto leaves = static_cast<std::size_t>(shape.leaves);
  std::size_t width = 1;
  for (int i = 0; i < shape.levels; ++i) {
    Level level;
    level.leaves_below = static_cast<std::size_t>(shape.leaves_below(i, spec.fabric.radix));
    level.subtrees = (leaves + level.leaves_below - 1) / level.leaves_below;
    level.width = width;
    level.up = static_cast<std::size_t>(i == 0 ? shape.up : shape.half);
    level.first_vertex = table.add_vertices(level.subtrees * width);
    levels_.push_back(level);
    width *= level.up;
    if (level.subtrees == 1) break;  // nothing above would be used
  }
  for (std::size_t i = 0; i + 1 < levels_.size(); ++i) {
    levels_[i].first_link = table.next();
    add_links(levels_[i], levels_[i + 1], i, table, spec);
  }
}

void Clos::add_links(const Level& level, const Level& above, std::size_t index, LinkTable& table,
                     const ClusterSpec& spec) {
  const BytesPerSec bandwidth = switch_link(spec);
  const Seconds latency = spec.fabric.hop_latency;
  const std::size_t ratio = above.leaves_below / level.leaves_below;
  for (std::size_t subtree = 0; subtree < level.subtrees; ++subtree) {
    for (std::size_t position = 0; position < level.width; ++position) {
      const std::string name = switch_name(index, subtree, position);
      const auto here = level.first_vertex + static_cast<std::uint32_t>(subtree * level.width + position);
      for (std::size_t port = 0; port < level.up; ++port) {
        const std::size_t parent = subtree / ratio * above.width + position * level.up + port;
        const auto there = above.first_vertex + static_cast<std::uint32_t>(parent);
        table.add({fmt::format("{}/up{}", name, port), bandwidth, latency, here, there});
        table.add({fmt::format("{}/down{}", name, port), bandwidth, latency, there, here});
      }
    }
  }
}

std::string Clos::switch_name(std::size_t level, std::size_t subtree, std::size_t position) const {
  if (level == 0 && rails_) return fmt::format("rail{}/leaf{}", subtree % ports_, subtree / ports_);
  if (level == 0) return fmt::format("leaf{}", subtree);
  return fmt::format("{}{}.{}", level == 1 ? "spine" : fmt::format("core{}-", level), subtree, position);
}

std::size_t Clos::leaf_of(int port) const {
  const auto p = static_cast<std::size_t>(port);
  return rails_ ? p / ports_ / down_ * ports_ + p % ports_ : p / down_;
}

std::size_t Clos::slot_of(int port) const {
  const auto p = static_cast<std::size_t>(port);
  return rails_ ? p / ports_ % down_ : p % down_;
}

std::uint32_t Clos::switch_of(int port) const {
  return levels_[0].first_vertex + static_cast<std::uint32_t>(leaf_of(port));
}

void Clos::route(int from, int to, std::size_t attempt, std::vector<LinkId>& path) const {
  const std::size_t source = leaf_of(from), target = leaf_of(to);
  std::size_t top = 0;
  while (source / levels_[top].leaves_below != target / levels_[top].leaves_below) {
    ++top;
    TESSERA_ASSERT(top < levels_.size(), "the leaves have no switch in common");
  }
  std::size_t digits = hashed_ ? hash_of(from, to) : target * down_ + slot_of(to);
  std::size_t position = 0;
  std::vector<std::size_t> down;
  for (std::size_t i = 0; i < top; ++i) {
    const Level& level = levels_[i];
    const std::size_t port = (digits + attempt) % level.up;
    const auto link = [&](std::size_t leaf) {
      const std::size_t at = (leaf / level.leaves_below * level.width + position) * level.up + port;
      return level.first_link + 2 * at;
    };
    path.push_back(link_id(link(source)));
    down.push_back(link(target) + 1);
    position = position * level.up + port;
    digits /= level.up;
  }
  for (auto link = down.rbegin(); link != down.rend(); ++link) path.push_back(link_id(*link));
}

}  // namespace

int clos_levels(const ClusterSpec& spec) {
  if (spec.fabric.levels > 0) return spec.fabric.levels;
  for (int levels = 2; levels < kMaxLevels; ++levels) {
    if (holds(make_shape(spec, levels), spec)) return levels;
  }
  return kMaxLevels;
}

std::optional<SpecProblem> clos_problem(const ClusterSpec& spec) {
  const FabricSpec& fabric = spec.fabric;
  const int levels = clos_levels(spec);
  if (levels > kMaxLevels) return SpecProblem{"fabric.levels", fmt::format("at most {} are possible", kMaxLevels)};
  const Shape shape = make_shape(spec, levels);
  if (shape.down == 0) {
    return SpecProblem{"fabric.oversubscription", fmt::format("no split of {} ports into down and up links gives {}:1",
                                                              fabric.radix, fabric.oversubscription)};
  }
  if (levels == 1 && fabric.oversubscription != 1) {
    return SpecProblem{"fabric.oversubscription", "one level has no up-links to oversubscribe"};
  }
  if (!holds(shape, spec)) {
    return SpecProblem{"fabric.radix",
                       fmt::format("{} level{} of {}-port switches cannot join {} nodes of {} ports", levels,
                                   levels == 1 ? "" : "s", fabric.radix, spec.nodes, spec.node.ports())};
  }
  const bool forwards = spec.node.intra == IntraNode::nvswitch || spec.node.intra == IntraNode::full_mesh;
  if (levels == 1 && fabric.kind == FabricKind::rail_optimised && spec.node.ports() > 1 && !forwards) {
    return SpecProblem{"fabric.levels", "rails without a second level need nvswitch or full_mesh inside the nodes"};
  }
  return std::nullopt;
}

std::unique_ptr<const Fabric> make_clos(const ClusterSpec& spec, LinkTable& table) {
  return std::make_unique<Clos>(spec, make_shape(spec, clos_levels(spec)), table);
}

}  // namespace tessera
