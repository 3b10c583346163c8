// What people ask of a run, from its trace; pure. Printing and writing are elsewhere in this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernel_cost.hpp"
#include "models/memory_footprint.hpp"
#include "sim/base/estimate.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/plan.hpp"
#include "sim/report/critical_path.hpp"
#include "sim/report/energy.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

/// A kernel or collective by name.
struct OperatorShare {
  std::string name;        // over all layers and micro-batches
  std::int64_t calls = 0;  // per step, on one GPU of every pipeline stage together
  Estimate<Seconds> time;  // of all calls
  double share_ratio = 0;  // of the step, the stages' mean
  Provenance provenance = Provenance::closed_form;
};

struct Summary {
  std::string scenario, run, model, platform, gpu;
  int gpus = 1;
  ParallelSpec parallel;
  bool training = false;
  Dtype dtype = Dtype::fp32;
  std::int64_t sequence = 0, samples_per_step = 0;
  Estimate<Seconds> step_time;
  std::int64_t tokens_per_step = 0;
  Estimate<double> tokens_per_second, tokens_per_second_per_gpu;  // p10 is the low end of the rate
  Estimate<double> mfu_ratio;  // model FLOPs / (step time x GPUs x peak of the dtype)
  Flops model_flops;           // of one step on all GPUs, by `model_flops` below
  FlopsPerSec peak;            // of one GPU, dense, in the dtype
  MemoryFootprint memory;
  Bytes memory_capacity;
  Seconds compute, exposed_communication, idle;  // of the busiest GPU; they add up to the step
  std::vector<OperatorShare> operators;          // by falling time
  CriticalPath path;
  std::string busiest_link;
  double busiest_link_ratio = 0;
  double hbm_ratio = 0;  // bytes from and to device memory over what its bandwidth could carry, busiest GPU
  EnergyParts energy;    // GPUs and hosts, one step
  Provenance provenance = Provenance::closed_form;  // worst of the kernels that take 1 % of compute or more
  double extrapolated_ratio = 0;                    // of the compute time: outside what the model was fitted on
  std::uint64_t events = 0;
  std::uint32_t folded = 1;
  std::string folding{};  // what was folded, or why nothing was, in words
};

/// What a task is called in every output: a kernel by its operator, a collective by kind and dimension ("all_reduce
/// over tp").
std::string task_name(const Plan& plan, const Task& task);
/// How long every task lasted on the first simulated GPU that runs it; zero where spans were not recorded.
std::vector<Seconds> task_durations(const Plan& plan, const Trace& trace);

/// What a summary is made of.
struct SummaryInput {
  std::string scenario, run;
  const Graph& graph;
  const BuildOptions& build;
  const ClusterSpec& cluster;
  const Plan& plan;
  const CostTable& costs;
  const Trace& trace;
  const MemoryFootprint& memory;
};
Summary summarize(const SummaryInput& input);

/// The FLOP convention behind MFU: GEMM and attention FLOPs of the forward pass, x 3 for training (backward is twice
/// the forward), causal attention by its unmasked half, recomputation never counted (Chowdhery et al., PaLM, appendix
/// B, but with the attention's causal half).
Flops model_flops(const Graph& graph, const ParallelSpec& spec, bool training);
std::string_view flop_convention(bool training);

}  // namespace tessera
