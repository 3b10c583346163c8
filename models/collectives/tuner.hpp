// What a collective costs and how NCCL would do it: the cheapest of its algorithms and protocols.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/collectives/flows.hpp"
#include "models/collectives/parameters.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

/// LL and LL128 carry a flag in each store: few waits, less bandwidth. Simple waits for whole chunks.
enum class WireProtocol : std::uint8_t { ll, ll128, simple };
constexpr std::array<std::string_view, 3> enum_names(WireProtocol) {
  return {"LL", "LL128", "Simple"};
}

/// Rates at which `collective_volume` flows where nothing else does, by the slowest link; 0: no such flows.
struct FlowRates {
  BytesPerSec inside, between;  // of flows inside nodes, and from node to node
};
FlowRates rates_of(std::span<const Flow> flows, const Topology& topology);

/// What a group of ranks has to work with.
struct GroupShape {
  int ranks = 1, nodes = 1, largest_node = 1;  // the most ranks on a node
  IntraNode intra = IntraNode::pcie;
  bool nvls = false;
  BytesPerSec gpu_link{};
  Hertz clock{};
  int sms = 1;
  double usable_link = 1, nvls_share = 0;  // as NCCL's tables have them for the GPU's generation
  Seconds longest_hop{};                   // by the links' latencies
  std::string machine_class{};
  std::array<FlowRates, kCollectiveAlgorithms> rates{};  // by algorithm; only those that this group can use
};
/// For collectives of `kind` over these GPUs (cluster-wide indices).
GroupShape shape_of(std::span<const int> gpus, CollectiveKind kind, const ClusterSpec& cluster,
                    const Topology& topology);

struct CollectiveCost {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  WireProtocol protocol = WireProtocol::simple;
  Seconds wait{};                  // before its bytes flow, whatever else is on the links
  double inside = 1, between = 1;  // bytes on a link per byte of `collective_volume`
  Seconds time{};                  // alone: wait + the slower of both kinds of flow
  int channels = 1;                // thread blocks, each of an SM
};

/// What a transfer of a user's schedule costs beside its bytes.
struct StepPrice {
  Seconds start{};                      // of the whole collective
  Seconds inside_hop{}, between_hop{};  // of each step, inside a node and over the network
  bool latency_inside = true;           // of the links, beside the hop; between nodes it always counts
  double inside = 1, between = 1;       // bytes on a link per byte of a chunk
  int channels = 1;
};

/// Bytes that a flow of share 1 carries: what a rank sends in all steps of a ring or to all peers, the whole message of
/// the other algorithms.
Bytes collective_volume(CollectiveAlgorithm algorithm, CollectiveKind kind, int ranks, Bytes bytes);

/// In the structure of NCCL's tuner (src/graph/tuning.cc): latency of the start and of each step, inside a node and
/// over the network, plus bytes over the rate; per algorithm and protocol, the smallest wins. Without parameters links
/// are ideal: a ring (or pairs) of all their bandwidth, a step as long as the longest hop.
class CollectiveModel {
 public:
  CollectiveModel() = default;
  explicit CollectiveModel(CollectiveParameters parameters) : parameters_(std::move(parameters)) {}

  /// `summable`: the switch can reduce it (NVLink SHARP sums fp32, fp16, bf16, fp8, not int8).
  [[nodiscard]] CollectiveCost cost(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                                    bool summable = true) const;
  /// The same with the algorithm given; the ring where the group has no flows of it.
  [[nodiscard]] CollectiveCost cost(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                                    CollectiveAlgorithm algorithm) const;
  /// Steps of a user's schedule: a ring's, in the protocol Simple; without parameters the links alone.
  [[nodiscard]] StepPrice step_price(const GroupShape& shape) const;
  [[nodiscard]] const std::optional<CollectiveParameters>& parameters() const { return parameters_; }

 private:
  std::optional<CollectiveParameters> parameters_;
};

}  // namespace tessera
