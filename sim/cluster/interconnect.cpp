#include "sim/cluster/interconnect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr auto kNone = std::numeric_limits<std::size_t>::max();

/// NVLinks between each pair of a DGX-1 with V100, six per GPU (NVIDIA DGX-1 system architecture, 2017).
constexpr std::array<std::array<int, 8>, 8> kCubeMesh{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                       {1, 0, 2, 1, 0, 2, 0, 0},
                                                       {1, 2, 0, 2, 0, 0, 1, 0},
                                                       {2, 1, 2, 0, 0, 0, 0, 1},
                                                       {2, 0, 0, 0, 0, 1, 1, 2},
                                                       {0, 2, 0, 0, 1, 0, 2, 1},
                                                       {0, 0, 1, 0, 1, 2, 0, 2},
                                                       {0, 0, 0, 1, 2, 1, 2, 0}}};
constexpr int kCubeMeshLinks = 6;

/// Share of a GPU's bandwidth on its link to each peer.
std::vector<double> pair_shares(IntraNode kind, std::size_t gpus) {
  std::vector<double> share(gpus * gpus, 0.0);
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = 0; b < gpus; ++b) {
      if (a == b) continue;
      share[a * gpus + b] =
          kind == IntraNode::full_mesh ? 1.0 / static_cast<double>(gpus - 1) : kCubeMesh[a][b] / double{kCubeMeshLinks};
    }
  }
  return share;
}

}  // namespace

Interconnect::Interconnect(const ClusterSpec& spec, LinkTable& table)
    : kind_(spec.node.intra), gpus_(at(spec.node.gpus)) {
  std::vector<Local> links;
  if (gpus_ > 1 && kind_ == IntraNode::nvswitch) add_switched(spec.node, links);
  if (gpus_ > 1 && (kind_ == IntraNode::full_mesh || kind_ == IntraNode::hybrid_cube_mesh)) add_pairs(spec.node, links);
  add_host(spec, links);

  const std::size_t nodes = at(spec.nodes);
  hosts_ = table.add_vertices(nodes);
  const std::uint32_t switches = table.add_vertices(kind_ == IntraNode::nvswitch ? nodes : 0);
  first_ = table.next();
  per_node_ = links.size();
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto vertex = [&](std::size_t local) -> std::uint32_t {
      if (local < gpus_) return static_cast<std::uint32_t>(node * gpus_ + local);
      return (local == gpus_ ? hosts_ : switches) + static_cast<std::uint32_t>(node);
    };
    for (const Local& link : links) {
      table.add({fmt::format("node{}/{}", node, link.name), link.bandwidth, link.latency, vertex(link.from),
                 vertex(link.to)});
    }
  }
}

int Interconnect::lanes(int a, int b) const {
  if (kind_ == IntraNode::hybrid_cube_mesh) return kCubeMesh[at(a)][at(b)];
  return a == b ? 0 : 1;
}

void Interconnect::add_switched(const NodeSpec& node, std::vector<Local>& links) const {
  const std::size_t nvswitch = gpus_ + 1;
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
    links.push_back({fmt::format("gpu{}/nvlink-out", gpu), node.gpu_link, node.gpu_link_latency / 2, gpu, nvswitch});
    links.push_back({fmt::format("gpu{}/nvlink-in", gpu), node.gpu_link, node.gpu_link_latency / 2, nvswitch, gpu});
  }
}

void Interconnect::add_pairs(const NodeSpec& node, std::vector<Local>& links) {
  const std::vector<double> share = pair_shares(kind_, gpus_);
  pair_.assign(gpus_ * gpus_, kNone);
  for (std::size_t a = 0; a < gpus_; ++a) {
    for (std::size_t b = 0; b < gpus_; ++b) {
      if (share[a * gpus_ + b] <= 0) continue;
      pair_[a * gpus_ + b] = links.size();
      links.push_back({fmt::format("gpu{}/nvlink-to-gpu{}", a, b), node.gpu_link * share[a * gpus_ + b],
                       node.gpu_link_latency, a, b});
    }
  }
  find_relays(share);
}

// Widest two-link path, lowest relay first: what NCCL takes where peers have no link of their own.
void Interconnect::find_relays(const std::vector<double>& width) {
  relay_.assign(gpus_ * gpus_, kNone);
  for (std::size_t a = 0; a < gpus_; ++a) {
    for (std::size_t b = 0; b < gpus_; ++b) {
      double widest = 0;
      for (std::size_t via = 0; via < gpus_; ++via) {
        const double narrow = std::min(width[a * gpus_ + via], width[via * gpus_ + b]);
        if (narrow <= widest) continue;
        widest = narrow;
        relay_[a * gpus_ + b] = via;
      }
    }
  }
}

// Between GPUs without other links PCIe carries the node's GPU-to-GPU latency; towards a NIC it is in the NIC's.
void Interconnect::add_host(const ClusterSpec& spec, std::vector<Local>& links) {
  const bool only = kind_ == IntraNode::pcie;
  const BytesPerSec bandwidth = only ? spec.node.gpu_link : spec.gpu.pcie_bandwidth;
  const Seconds latency = only ? spec.node.gpu_link_latency / 2 : Seconds();
  const std::size_t host = gpus_;
  pcie_ = links.size();
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
    links.push_back({fmt::format("gpu{}/pcie-out", gpu), bandwidth, latency, gpu, host});
    links.push_back({fmt::format("gpu{}/pcie-in", gpu), bandwidth, latency, host, gpu});
  }
}

void Interconnect::path(int node, int a, int b, std::vector<LinkId>& path) const {
  const std::size_t from = at(a), to = at(b);
  switch (kind_) {
    case IntraNode::nvswitch:
      path.push_back(link(node, 2 * from));
      path.push_back(link(node, 2 * to + 1));
      return;
    case IntraNode::pcie:
      path.push_back(to_host(node, a));
      path.push_back(from_host(node, b));
      return;
    case IntraNode::full_mesh:
    case IntraNode::hybrid_cube_mesh:
      if (const std::size_t pair = pair_[from * gpus_ + to]; pair != kNone) {
        path.push_back(link(node, pair));
        return;
      }
      const std::size_t via = relay_[from * gpus_ + to];
      TESSERA_ASSERT(via != kNone, "every pair of a cube mesh is at most two links apart");
      path.push_back(link(node, pair_[from * gpus_ + via]));
      path.push_back(link(node, pair_[via * gpus_ + to]));
  }
}

}  // namespace tessera
