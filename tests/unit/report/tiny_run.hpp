// A run small enough to work out by hand: two kernels and a collective on two GPUs.
#pragma once

#include "sim/report/summary.hpp"

namespace tessera {

/// Per GPU and step: `matmul` twice (1 s each, band 0.9-1.2), `copy` once (2 s, band 1.8-2.4), then an all-reduce of
/// 1 s that nothing hides, then 0.5 s of idling: a step of 5.5 s.
struct TinyRun {
  ClusterSpec cluster;
  Graph graph;
  BuildOptions build;
  Plan plan;
  CostTable costs;
  Trace trace;
  MemoryFootprint memory;

  TinyRun() {
    cluster.name = "pair";
    cluster.node.gpus = 4;
    cluster.node.host_power = Watts(100);
    cluster.gpu.name = "Tiny";
    cluster.gpu.memory = Bytes(16e9);
    cluster.gpu.power_cap = Watts(50);
    cluster.gpu.memory_bandwidth = BytesPerSec(100);
    cluster.gpu.peak[static_cast<std::size_t>(Dtype::bf16)] = FlopsPerSec(1000);
    const Kernel matmul{Op::linear, Dtype::bf16, GemmShape{.m = 10, .n = 10, .k = 10}};
    const Kernel copy{Op::memory, Dtype::bf16, MemoryShape{Bytes(8), Bytes(8)}};

    graph.model = "toy";
    graph.names = {"matmul", "copy, out"};
    graph.operators.resize(2);
    graph.operators[0].kernel = matmul;
    graph.operators[1].kernel = copy;
    graph.operators[1].name = 1;
    build.mode = Mode::training;
    build.dtype = Dtype::bf16;
    build.batch = 3;
    build.sequence = 7;

    plan.spec = {.tp = 1, .dp = 2, .micro_batches = 2, .bucket = Bytes(1)};
    plan.kernels = {matmul, copy};
    plan.names = graph.names;
    plan.names.emplace_back("gradients \"all\"");
    plan.tasks.resize(4);
    plan.tasks[0].work = plan.tasks[1].work = KernelId{0};
    plan.tasks[2].work = KernelId{1};
    plan.tasks[2].name = 1;
    plan.tasks[3].work = Collective{CollectiveKind::all_reduce, Dimension::dp, Bytes(100)};
    plan.tasks[3].name = 2;
    plan.tasks[3].after = {TaskId{2}};
    plan.tasks[3].stream = StreamKind::communication;

    costs.resize(2);
    costs[0].time = {Seconds(0.9), Seconds(1), Seconds(1.2)};
    costs[0].energy = Joules(10);
    costs[0].provenance = Provenance::fitted;
    costs[1].time = {Seconds(1.8), Seconds(2), Seconds(2.4)};
    costs[1].energy = Joules(5);
    costs[1].provenance = Provenance::closed_form;

    trace.makespan = Seconds(5.5);
    trace.tracks = {{"gpu0 compute", 0}, {"gpu0 communication", 0}, {"wire", -1}};
    trace.spans = {{0, 0, Seconds(0), Seconds(1)},
                   {0, 1, Seconds(1), Seconds(2)},
                   {0, 2, Seconds(2), Seconds(4)},
                   {1, 3, Seconds(4), Seconds(5)},
                   {2, 3, Seconds(4), Seconds(5)}};
    trace.links = {{"idle wire", BytesPerSec(100), Bytes(0), Seconds(0)},
                   {"wire", BytesPerSec(100), Bytes(100), Seconds(1.1)}};
    trace.gpus.resize(1);
    trace.gpus[0].gpu = 0;
    trace.gpus[0].compute_busy = Seconds(4);
    trace.gpus[0].communication_busy = trace.gpus[0].exposed_communication = Seconds(1);
    trace.gpus[0].idle = Seconds(0.5);
    trace.folded = 2;
    trace.events = 9;
    memory.components = {{"weights", Bytes(1073741824.0), "2 bytes x parameters"}, {"none", Bytes(0), ""}};
  }

  [[nodiscard]] Summary summary() const {
    return summarize({"tiny", "one", graph, build, cluster, plan, costs, trace, memory});
  }
};

}  // namespace tessera
