#include "models/collectives/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "models/collectives/ring.hpp"

namespace tessera {

namespace {

using enum CollectiveConstant;

constexpr double kCyclesPerUnit = 1e3;

/// NCCL's public tables (src/graph/topo.h, tuning.cc): GB/s that it counts per NVLink over the nominal 20, 25, 25, 25
/// and 50, and the efficiency of the switch's sums.
struct Generation {
  std::string_view name;
  double usable_link, nvls_share;
};
constexpr std::array kGenerations{Generation{"Pascal", 18.0 / 20, 0}, Generation{"Volta", 20.0 / 25, 0},
                                  Generation{"Ampere", 20.0 / 25, 0}, Generation{"Hopper", 20.6 / 25, 0.85},
                                  Generation{"Blackwell", 40.1 / 50, 0.74}};
constexpr Generation kOtherGeneration{"", 0.8, 0.74};

/// Seconds of a step over the network by protocol, as NCCL's tuner has them: rings, then trees.
constexpr std::array<double, 3> kNetRing{2.7e-6, 4.0e-6, 14e-6}, kNetTree{5.0e-6, 8.5e-6, 14e-6};
constexpr double kNetNvlsTree = 20.9e-6;
constexpr int kChannels = 24;           // of a ring or tree through NVSwitch, and of messages
constexpr int kSwitchChannels = 16;     // of nvls
constexpr int kNetMessageChannels = 2;  // NCCL_NCHANNELS_PER_NET_PEER's default

Generation generation_of(const GpuSpec& gpu) {
  for (const Generation& g : kGenerations) {
    if (gpu.architecture.starts_with(g.name)) return g;
  }
  return kOtherGeneration;
}

/// One algorithm's price on one group.
class Pricing {
 public:
  [[nodiscard]] StepPrice of_step() const {
    constexpr auto kSimple = static_cast<std::size_t>(WireProtocol::simple);
    StepPrice price{.start = cycles(c_[start] + c_[start_simple]),
                    .inside_hop = cycles(c_[hop_simple]),
                    .between_hop = Seconds(kNetRing[kSimple]),
                    .latency_inside = false,
                    .inside = 1 / link_share(),
                    .between = 1 / c_[net],
                    .channels = kChannels};
    if (shape_.nodes > 1) price.start += (c_[net_start] - 1) * price.between_hop;
    return price;
  }
  Pricing(CollectiveKind kind, Bytes bytes, const GroupShape& shape, const CollectiveConstants& constants)
      : kind_(kind), bytes_(bytes), shape_(shape), c_(constants) {}

  [[nodiscard]] std::vector<CollectiveCost> all(CollectiveAlgorithm algorithm) const {
    switch (algorithm) {
      case CollectiveAlgorithm::ring:
      case CollectiveAlgorithm::tree:
        return {stepped(algorithm, WireProtocol::ll), stepped(algorithm, WireProtocol::ll128),
                stepped(algorithm, WireProtocol::simple)};
      case CollectiveAlgorithm::nvls:
      case CollectiveAlgorithm::nvls_tree:
        return {in_switch(algorithm)};
      case CollectiveAlgorithm::pairwise:
      case CollectiveAlgorithm::message:
        return {paired(algorithm, WireProtocol::ll), paired(algorithm, WireProtocol::simple)};
    }
    return {};
  }

 private:
  [[nodiscard]] Seconds cycles(double thousands) const { return thousands * kCyclesPerUnit / shape_.clock; }
  [[nodiscard]] double link_share() const {
    if (shape_.intra == IntraNode::nvswitch) return c_[switched] * shape_.usable_link;
    return shape_.intra == IntraNode::pcie ? c_[pcie] : c_[direct];
  }
  [[nodiscard]] BytesPerSec copy_rate(CollectiveConstant bytes_per_clock) const {
    return Bytes(c_[bytes_per_clock]) * shape_.clock * static_cast<double>(shape_.sms);
  }
  [[nodiscard]] const FlowRates& rates(CollectiveAlgorithm a) const {
    return shape_.rates[static_cast<std::size_t>(a)];
  }

  /// Fills in the time from waits and shares.
  [[nodiscard]] CollectiveCost priced(CollectiveCost cost) const {
    const Bytes volume = collective_volume(cost.algorithm, kind_, shape_.ranks, bytes_);
    const FlowRates& rate = rates(cost.algorithm);
    Seconds flow;
    if (rate.inside > BytesPerSec()) flow = volume * cost.inside / rate.inside;
    if (rate.between > BytesPerSec()) flow = max(flow, volume * cost.between / rate.between);
    cost.time = cost.wait + flow;
    return cost;
  }

  /// Steps over the network: the first pays for setting out, which is fitted (on two nodes, where no more can be told);
  /// the others take what NCCL's tuner expects.
  [[nodiscard]] Seconds over_network(double steps, Seconds step) const {
    if (steps <= 0) return {};
    return (c_[net_start] + steps - 1) * step + steps * shape_.longest_hop;
  }

  [[nodiscard]] Seconds step_time(CollectiveAlgorithm algorithm, WireProtocol protocol) const {
    const auto p = static_cast<std::size_t>(protocol);
    const std::array hop{c_[hop_ll], c_[hop_ll128], c_[hop_simple]};
    if (algorithm == CollectiveAlgorithm::tree) {
      const double levels = std::floor(std::log2(shape_.nodes));
      return 2 * (shape_.largest_node - 1) * cycles(hop[p]) + over_network(2 * levels, Seconds(kNetTree[p]));
    }
    const int steps = ring_steps(kind_, shape_.ranks),
              over_net = shape_.nodes > 1 ? ring_steps(kind_, shape_.nodes) : 0;
    return (steps - over_net) * cycles(hop[p]) + over_network(over_net, Seconds(kNetRing[p]));
  }

  [[nodiscard]] CollectiveCost stepped(CollectiveAlgorithm algorithm, WireProtocol protocol) const {
    const auto p = static_cast<std::size_t>(protocol);
    const double share = std::array{c_[share_ll], c_[share_ll128], 1.0}[p];
    const double more = std::array{0.0, c_[start_ll128], c_[start_simple]}[p];
    // A rank also copies its own part once: with n - 1 steps over links it makes n of the copy.
    const Seconds own = bytes_ / static_cast<double>(shape_.ranks) / copy_rate(local_copy) / share;
    return priced({.algorithm = algorithm,
                   .protocol = protocol,
                   .wait = cycles(c_[start] + more) + step_time(algorithm, protocol) + own,
                   .inside = 1 / (link_share() * share),
                   .between = 1 / (c_[net] * share),
                   .channels = kChannels});
  }

  [[nodiscard]] CollectiveCost in_switch(CollectiveAlgorithm algorithm) const {
    const double levels = std::floor(std::log2(shape_.nodes));
    return priced({.algorithm = algorithm,
                   .wait = cycles(c_[start] + c_[nvls_start]) + over_network(2 * levels, Seconds(kNetNvlsTree)),
                   .inside = 1 / (c_[nvls] * shape_.nvls_share),
                   .between = 1 / c_[net],
                   .channels = kSwitchChannels});
  }

  [[nodiscard]] CollectiveCost paired(CollectiveAlgorithm algorithm, WireProtocol protocol) const {
    const bool message = algorithm == CollectiveAlgorithm::message;
    const auto p = static_cast<std::size_t>(protocol);
    const int peers = message ? 1 : shape_.ranks - 1;
    CollectiveCost cost{.algorithm = algorithm, .protocol = protocol, .channels = kChannels};
    cost.wait = cycles(c_[pair_start] + c_[pair_peer] * peers);
    if (message && shape_.nodes > 1) cost.channels = kNetMessageChannels;
    if (shape_.nodes > 1) cost.wait += over_network(1, Seconds(kNetRing[p]));
    const double link = shape_.intra == IntraNode::nvswitch ? c_[pair_switched] * shape_.usable_link : link_share();
    const Bytes volume = collective_volume(algorithm, kind_, shape_.ranks, bytes_);
    const BytesPerSec rate = rates(algorithm).inside;
    if (protocol == WireProtocol::ll) {
      const double moved = message || volume == Bytes() ? 1 : bytes_ / volume;
      cost.inside = moved / c_[pair_share_ll];
      cost.between = 1 / (c_[net] * c_[share_ll]);
    } else {
      cost.wait += cycles(c_[pair_start_simple]);
      cost.inside = 1 / link;
      cost.between = 1 / c_[net];
      if (shape_.intra != IntraNode::pcie && rate > BytesPerSec() && volume > Bytes()) {
        // The SMs move everything, a rank's own part too; the slower of both, rounded by the fourth norm.
        const double copied = (bytes_ / copy_rate(pair_copy)) / (volume / rate);
        cost.inside = std::pow(std::pow(copied, 4) + std::pow(cost.inside, 4), 0.25);
      }
    }
    return priced(cost);
  }

  CollectiveKind kind_;
  Bytes bytes_;
  const GroupShape& shape_;
  const CollectiveConstants& c_;
};

CollectiveAlgorithm plain(CollectiveKind kind) {
  if (kind == CollectiveKind::send_recv) return CollectiveAlgorithm::message;
  return kind == CollectiveKind::all_to_all ? CollectiveAlgorithm::pairwise : CollectiveAlgorithm::ring;
}

/// Those that the group has flows of, the plain one first.
std::vector<CollectiveAlgorithm> candidates(CollectiveKind kind, const GroupShape& shape, bool summable) {
  std::vector<CollectiveAlgorithm> some{plain(kind)};
  if (kind != CollectiveKind::all_reduce) return some;
  const auto add = [&](CollectiveAlgorithm a) {
    const FlowRates& rate = shape.rates[static_cast<std::size_t>(a)];
    if (rate.inside > BytesPerSec() || rate.between > BytesPerSec()) some.push_back(a);
  };
  add(CollectiveAlgorithm::tree);
  if (summable) add(CollectiveAlgorithm::nvls);
  if (summable) add(CollectiveAlgorithm::nvls_tree);
  return some;
}

CollectiveCost ideal(CollectiveKind kind, Bytes bytes, const GroupShape& shape, CollectiveAlgorithm algorithm) {
  const FlowRates& rate = shape.rates[static_cast<std::size_t>(algorithm)];
  const Bytes volume = collective_volume(algorithm, kind, shape.ranks, bytes);
  CollectiveCost cost{
      .algorithm = algorithm, .wait = ring_steps(kind, shape.ranks) * shape.longest_hop, .channels = kChannels};
  Seconds flow;
  if (rate.inside > BytesPerSec()) flow = volume / rate.inside;
  if (rate.between > BytesPerSec()) flow = max(flow, volume / rate.between);
  cost.time = cost.wait + flow;
  return cost;
}

CollectiveCost fastest(std::span<const CollectiveCost> costs) {
  return *std::ranges::min_element(costs, {}, [](const CollectiveCost& c) { return c.time.value(); });
}

}  // namespace

FlowRates rates_of(std::span<const Flow> flows, const Topology& topology) {
  std::map<LinkId, std::array<double, 2>> loads;
  for (const Flow& flow : flows) {
    for (const FlowLink& link : flow.links) loads[link.id][flow.between_nodes ? 1 : 0] += flow.share;
  }
  std::array<Seconds, 2> slowest{};  // per byte of volume
  for (const auto& [id, load] : loads) {
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const BytesPerSec bandwidth = topology.links()[static_cast<std::size_t>(id)].bandwidth;
      slowest[kind] = max(slowest[kind], Bytes(load[kind]) / bandwidth);
    }
  }
  const auto rate = [](Seconds per_byte) { return per_byte > Seconds() ? Bytes(1) / per_byte : BytesPerSec(); };
  return {rate(slowest[0]), rate(slowest[1])};
}

GroupShape shape_of(std::span<const int> gpus, CollectiveKind kind, const ClusterSpec& cluster,
                    const Topology& topology) {
  const auto nodes = by_node(gpus, cluster.node.gpus);
  const Generation generation = generation_of(cluster.gpu);
  GroupShape shape{.ranks = static_cast<int>(gpus.size()),
                   .nodes = static_cast<int>(nodes.size()),
                   .intra = cluster.node.intra,
                   .nvls = has_nvls(cluster),
                   .gpu_link = cluster.node.gpu_link,
                   .clock = cluster.gpu.boost_clock,
                   .sms = cluster.gpu.sms,
                   .usable_link = generation.usable_link,
                   .nvls_share = generation.nvls_share,
                   .machine_class = machine_class(cluster)};
  for (const auto& node : nodes) shape.largest_node = std::max(shape.largest_node, static_cast<int>(node.size()));
  std::set<CollectiveAlgorithm> algorithms{plain(kind)};
  if (kind == CollectiveKind::all_reduce && shape.ranks > 2) {
    algorithms.insert(usable(CollectiveAlgorithm::tree, gpus, cluster));
    // NCCL takes the switch above four GPUs of a node (fewer gain nothing by it).
    if (shape.largest_node > 4) algorithms.insert(usable(CollectiveAlgorithm::nvls, gpus, cluster));
  }
  for (const CollectiveAlgorithm algorithm : algorithms) {
    const std::vector<Flow> flows = flows_of(algorithm, gpus, cluster, topology);
    shape.rates[static_cast<std::size_t>(algorithm)] = rates_of(flows, topology);
    if (algorithm != plain(kind)) continue;
    for (const Flow& flow : flows) shape.longest_hop = max(shape.longest_hop, flow.latency);
  }
  return shape;
}

Bytes collective_volume(CollectiveAlgorithm algorithm, CollectiveKind kind, int ranks, Bytes bytes) {
  const bool plain_way = algorithm == CollectiveAlgorithm::ring || algorithm == CollectiveAlgorithm::pairwise;
  return plain_way ? ring_bytes_per_rank(kind, ranks, bytes) : bytes;
}

CollectiveCost CollectiveModel::cost(CollectiveKind kind, Bytes bytes, const GroupShape& shape, bool summable) const {
  if (shape.ranks < 2) return {};
  if (!parameters_) return ideal(kind, bytes, shape, plain(kind));
  const Pricing pricing(kind, bytes, shape, parameters_->of(shape.machine_class));
  std::vector<CollectiveCost> costs;
  for (const CollectiveAlgorithm algorithm : candidates(kind, shape, summable))
    std::ranges::copy(pricing.all(algorithm), std::back_inserter(costs));
  return fastest(costs);
}

CollectiveCost CollectiveModel::cost(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                                     CollectiveAlgorithm algorithm) const {
  if (shape.ranks < 2) return {};
  const auto some = candidates(kind, shape, true);
  const CollectiveAlgorithm chosen = std::ranges::find(some, algorithm) == some.end() ? plain(kind) : algorithm;
  if (!parameters_) return ideal(kind, bytes, shape, chosen);
  return fastest(Pricing(kind, bytes, shape, parameters_->of(shape.machine_class)).all(chosen));
}

StepPrice CollectiveModel::step_price(const GroupShape& shape) const {
  if (!parameters_) return {.channels = kChannels};
  return Pricing(CollectiveKind::all_reduce, Bytes(), shape, parameters_->of(shape.machine_class)).of_step();
}

}  // namespace tessera
