// What people ask of a run, from its trace; pure. Printing and writing are elsewhere in this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/kernel_cost.hpp"
#include "models/memory_footprint.hpp"
#include "sim/base/estimate.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/graph/plan.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

struct OperatorShare {
  std::string name;        // over all layers and micro-batches
  std::int64_t calls = 0;  // per GPU and step
  Estimate<Seconds> time;  // of all calls
  double share_ratio = 0;  // of the step
  Provenance provenance = Provenance::closed_form;
};

struct Summary {
  std::string scenario, run, model, platform;
  int gpus = 1;
  bool training = false;
  Estimate<Seconds> step_time;
  std::int64_t tokens_per_step = 0;
  Estimate<double> tokens_per_second, tokens_per_second_per_gpu;  // p10 is the low end of the rate
  Estimate<double> mfu_ratio;  // model FLOPs / (step time x GPUs x peak of the dtype)
  Flops model_flops;           // convention: forward GEMM and attention FLOPs, x3 for training, no recomputation
  FlopsPerSec peak;
  MemoryFootprint memory;
  Bytes memory_capacity;
  Seconds compute, exposed_communication, idle;  // of the busiest GPU; they add up to the step
  std::vector<OperatorShare> operators;          // by falling time
  std::string busiest_link;
  double busiest_link_ratio = 0;
  Estimate<Joules> energy;  // GPUs and hosts, one step
  Provenance provenance = Provenance::closed_form;
  std::uint64_t events = 0;
  std::uint32_t folded = 1;
};

}  // namespace tessera
