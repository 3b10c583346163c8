// The one impure step: runs a plan on a cluster in SimGrid and says what happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/parameters.hpp"
#include "models/collectives/schedule.hpp"
#include "models/kernel_cost.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/graph/plan.hpp"
#include "sim/place/policy.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

/// kernel: whole kernels (and runs of them) are one activity while nothing else can touch the GPU. wave: every cohort
/// of blocks is its own. automatic: kernel wherever it gives the same answer.
enum class Fidelity : std::uint8_t { automatic, kernel, wave };
enum class Fold : std::uint8_t { off, on };

struct SimulationOptions {
  Fidelity fidelity = Fidelity::automatic;
  Fold fold = Fold::on;
  std::string dispatch = "streams";
  bool cuda_graph = false;            // no host launches, nor `host_work`
  std::vector<Seconds> host_work{};   // per task: what the host does before its launch, allocations; empty: nothing
  bool synchronous_messages = false;  // the host waits for every message between stages before it goes on
  /// How NCCL does them; none: rings that fill `collective_payload`, (0, 1], of every link, with the links' latency.
  std::optional<CollectiveParameters> collectives{};
  double collective_payload = 1;
  std::vector<OwnCollective> own_collectives{};  // instead, over the dimensions that they name
  bool collectives_take_sms = false;             // and bandwidth of device memory, from kernels beside them
  bool record_spans = true;
};

struct SimulationInput {
  const ClusterSpec& cluster;
  const Plan& plan;
  const CostTable& costs;  // parallel to plan.kernels
  const Placement& placement;
  SimulationOptions options;
};

/// Once per process (SimGrid keeps its clock). Deadlock, an exception in an actor and a task that never ran are
/// RunError.
Trace simulate(const SimulationInput& input);

/// `simulate` in a process of its own.
Trace simulate_isolated(const SimulationInput& input);

}  // namespace tessera
