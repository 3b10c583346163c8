// Small clusters and plans written out by hand, for tests whose answers are computed by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/des/simulate.hpp"
#include "tests/unit/des/bench_gpu.hpp"

namespace tessera {

/// One NVSwitch node of `gpus`, or several of them with a NIC per GPU on a rail-optimised fabric.
inline ClusterSpec small_cluster(int gpus, int nodes = 1) {
  ClusterSpec cluster;
  cluster.name = "test";
  cluster.node.name = "test";
  cluster.node.gpus = gpus;
  cluster.node.intra = IntraNode::nvswitch;
  cluster.node.gpu_link = BytesPerSec(450e9);
  cluster.node.gpu_link_latency = Seconds(0.8e-6);
  cluster.node.nics = gpus;
  cluster.node.nic_bandwidth = BytesPerSec(50e9);
  cluster.node.nic_latency = Seconds(1e-6);
  cluster.node.host_launch = Seconds(5e-6);
  cluster.nodes = nodes;
  cluster.gpu = small_gpu(132);
  cluster.gpu.pcie_bandwidth = BytesPerSec(64e9);
  cluster.gpu.nvlink_bandwidth = BytesPerSec(450e9);
  if (nodes > 1) {
    cluster.fabric.kind = FabricKind::rail_optimised;
    cluster.fabric.levels = 2;
    cluster.fabric.link_bandwidth = BytesPerSec(50e9);
    cluster.fabric.hop_latency = Seconds(0.13e-6);
  }
  return cluster;
}

/// A plan under construction; every kernel has its own cost.
class BenchPlan {
 public:
  BenchPlan(int tp, int dp, ClusterSpec cluster) : cluster_(std::move(cluster)) {
    plan_.spec.tp = tp;
    plan_.spec.dp = dp;
  }
  TaskId kernel(Seconds time, std::vector<TaskId> after = {}, StreamKind stream = StreamKind::compute) {
    plan_.kernels.emplace_back();
    costs_.push_back(grid(cluster_.gpu, 200, 1024, time));
    return push(static_cast<KernelId>(plan_.kernels.size() - 1), stream, std::move(after), "kernel");
  }
  TaskId collective(CollectiveKind kind, Dimension over, Bytes bytes, std::vector<TaskId> after = {}) {
    return push(Collective{kind, over, bytes}, StreamKind::communication, std::move(after), "collective");
  }
  void also_after(TaskId task, TaskId before) { plan_.tasks[static_cast<std::size_t>(task)].after.push_back(before); }

  Trace run(const SimulationOptions& options = {}) const { return simulate(input(options)); }
  Trace run_isolated(const SimulationOptions& options = {}) const { return simulate_isolated(input(options)); }
  const ClusterSpec& cluster() const { return cluster_; }
  const Plan& plan() const { return plan_; }

 private:
  SimulationInput input(const SimulationOptions& options) const {
    placement_.gpu_of_rank.clear();
    for (int r = 0; r < plan_.spec.world_size(); ++r) placement_.gpu_of_rank.push_back(r);
    return {cluster_, plan_, costs_, placement_, options};
  }
  TaskId push(std::variant<KernelId, Collective> work, StreamKind stream, std::vector<TaskId> after, const char* name) {
    Task task;
    task.work = work;
    task.stream = stream;
    task.after = std::move(after);
    task.name = static_cast<std::uint32_t>(plan_.names.size());
    plan_.names.push_back(std::string(name) + " " + std::to_string(plan_.tasks.size()));
    plan_.tasks.push_back(std::move(task));
    return static_cast<TaskId>(plan_.tasks.size() - 1);
  }

  ClusterSpec cluster_;
  Plan plan_;
  CostTable costs_;
  mutable Placement placement_;
};

inline const SimulationOptions kGraphUnfolded{.fold = Fold::off, .cuda_graph = true};
inline const SimulationOptions kGraphFolded{.fold = Fold::on, .cuda_graph = true};

}  // namespace tessera
