// The fitted numbers of the collectives' model, pooled and per class of machine, as a readable JSON file.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "sim/cluster/cluster.hpp"
#include "sim/config/json.hpp"

namespace tessera {

/// Latencies are in thousands of clock cycles of the GPU, copies in bytes per clock and SM, efficiencies in payload per
/// link's bytes. A hop: one step of a ring.
enum class CollectiveConstant : std::uint8_t {
  start,              // launch and both ends, ring and switch
  hop_ll,             // LL: 8-byte stores that carry a flag
  hop_ll128,          // LL128: 128-byte lines that carry a flag
  hop_simple,         // chunks and fences
  start_ll128,        // on top of `start`
  start_simple,       //
  share_ll,           // of the rate of Simple
  share_ll128,        //
  switched,           // of the usable NVLink rate, through NVSwitch
  direct,             // of the link, GPU to GPU
  pcie,               // of the link, through the host
  local_copy,         // a rank's own part, copied
  pair_start,         // all-to-all and messages
  pair_peer,          // per peer
  pair_start_simple,  // on top of `pair_start`
  pair_share_ll,      // of the link
  pair_switched,      // of the usable NVLink rate
  pair_copy,          // what the SMs move to all peers together
  nvls_start,         // on top of `start`
  nvls,               // of the switch's rate as NCCL's tuner has it
  net_start,          // the first step over the network, times the tuner's latency of one
  net,                // of the NIC
};
inline constexpr std::size_t kCollectiveConstants = 22;
std::string_view name_of(CollectiveConstant constant);

struct CollectiveConstants {
  std::array<double, kCollectiveConstants> values{};
  [[nodiscard]] double operator[](CollectiveConstant c) const { return values[static_cast<std::size_t>(c)]; }
};
/// Where a fit starts: NCCL's tuner where it has the number (hops, src/graph/tuning.cc), else a round one.
CollectiveConstants initial_constants();

/// Quantiles of log(measured / predicted).
struct CollectiveBar {
  double p10 = 0, p90 = 0;
};

struct CollectiveParameters {
  CollectiveConstants pooled;                          // for classes that were not measured
  std::map<std::string, CollectiveConstants> classes;  // by machine_class
  CollectiveBar unseen, seen;
  [[nodiscard]] const CollectiveConstants& of(const std::string& machine_class) const;
  [[nodiscard]] const CollectiveBar& bar_of(const std::string& machine_class) const;
};

/// Machines that share constants: the GPU's generation and how a node's GPUs are joined ("Hopper nvswitch").
std::string machine_class(const ClusterSpec& cluster);

Json to_json(const CollectiveParameters& parameters);
CollectiveParameters collective_parameters_from(const Json& json);
/// `weights` empty: the committed ones.
CollectiveParameters load_collective_parameters(const std::filesystem::path& weights = {});
inline constexpr std::string_view kCollectiveWeightsFile = "collectives.json";

}  // namespace tessera
