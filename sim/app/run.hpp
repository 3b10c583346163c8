// One run from its description to its summary: graph, plan, costs, memory check, placement, simulation.
#pragma once

#include <optional>
#include <string>

#include "models/collectives/ring.hpp"
#include "models/flash_generation.hpp"
#include "models/kernel_cost.hpp"
#include "models/latency_model.hpp"
#include "models/memory_footprint.hpp"
#include "models/profile.hpp"
#include "models/section_times.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/des/simulate.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/plan.hpp"
#include "sim/report/summary.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

/// Everything about one run, with every name resolved.
struct RunSpec {
  std::string scenario, name;
  ModelConfig model;
  BuildOptions build;  // of one micro-batch of one replica
  ParallelSpec parallel;
  ClusterSpec cluster;            // its GPUs beyond the world size stay idle
  int gpus = 0;                   // that a policy may choose from; 0: as many as `parallel` has
  bool free_micro_batch = false;  // a policy may choose `build.batch`, too
  std::string placement = "packed";
  SimulationOptions simulation{.collective_payload = kNcclPayload};
  PredictContext context;
  FlashGeneration flash = FlashGeneration::newest;
  bool cold_allocator = false;           // the step's first allocations go to the device (NodeSpec::device_malloc)
  std::optional<Profile> profile;        // shifts the latency model; of the cluster's GPU
  std::optional<SectionTimes> sections;  // what the model's sections take, instead of their kernels' sums
  bool check_memory = true;              // refuse what does not fit
};

/// What a run gives; `plan` and `costs` explain the trace's tasks.
struct RunResult {
  Summary summary;
  Plan plan;
  CostTable costs;
  Trace trace;
};

/// The run as its placement policy spreads it. RunError where the policy finds nothing.
RunSpec chosen(const RunSpec& spec, const LatencyModel& latency);

/// RunError when it cannot be done: does not fit (with the table of components), a dtype the GPU lacks, a deadlock.
RunResult run(const RunSpec& spec, const LatencyModel& latency);

}  // namespace tessera
