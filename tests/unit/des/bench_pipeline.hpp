// Pipelines of equal stages, for tests whose answers are the schedules' closed forms.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "sim/des/simulate.hpp"
#include "sim/graph/pipeline.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {

inline constexpr Seconds kForward(10e-6), kBackward(20e-6);

/// Without latency; links of 450 GB/s.
inline ClusterSpec instant_cluster(int gpus) {
  ClusterSpec cluster = small_cluster(gpus);
  cluster.node.gpu_link_latency = Seconds(0);
  return cluster;
}

/// Equal stages of one kernel forward and one backward, and messages of so many bytes.
class BenchPipeline {
 public:
  BenchPipeline(int stages, int dp, std::int64_t micro_batches, Bytes message, ClusterSpec cluster)
      : BenchPipeline({.dp = dp, .pp = stages, .micro_batches = micro_batches}, message, std::move(cluster)) {}
  BenchPipeline(const ParallelSpec& spec, Bytes message, ClusterSpec cluster)
      : cluster_(std::move(cluster)), message_(message) {
    plan_.spec = spec;
    plan_.wraps = spec.chunks > 1;
    plan_.kernels.resize(3);
    plan_.names = {"kernel", "message"};
    for (const Seconds time : {kForward, kBackward, kBackward / 2})
      costs_.push_back(grid(cluster_.gpu, 200, 1024, time / spec.chunks));
    for (int stage = 0; stage < spec.pp; ++stage) {
      for (const Pass& pass : pass_order(spec, stage)) add(stage, pass);
      if (spec.dp > 1) push(Collective{CollectiveKind::all_reduce, Dimension::dp, Bytes(45e6)}, {last_});
      plan_.program_ends.push_back(plan_.tasks.size());
    }
  }

  const Plan& plan() const { return plan_; }
  Trace run(SimulationOptions options) const {
    Placement placement;
    for (int r = 0; r < plan_.spec.world_size(); ++r) placement.gpu_of_rank.push_back(r);
    return simulate_isolated({cluster_, plan_, costs_, placement, options});
  }

 private:
  TaskId push(std::variant<KernelId, Collective> work, std::vector<TaskId> after) {
    Task task;
    task.stream = std::holds_alternative<KernelId>(work) ? StreamKind::compute : StreamKind::communication;
    task.name = std::holds_alternative<KernelId>(work) ? 0 : 1;
    task.work = work;
    task.after = std::move(after);
    plan_.tasks.push_back(std::move(task));
    return static_cast<TaskId>(plan_.tasks.size() - 1);
  }
  TaskId message(int sender, bool forward, std::int64_t micro_batch, bool receives, std::vector<TaskId> after) {
    const auto number = (2 * sender + (forward ? 0 : 1)) * plan_.spec.micro_batches + micro_batch;
    return push(Collective{CollectiveKind::send_recv, forward ? Dimension::next : Dimension::previous, message_,
                           receives, static_cast<std::uint32_t>(number)},
                std::move(after));
  }
  void add(int device, const Pass& pass) {
    const int stages = plan_.spec.stages(), stage = pass.chunk * plan_.spec.pp + device;
    const int from = pass.forward ? stage - 1 : stage + 1, to = pass.forward ? stage + 1 : stage - 1;
    const bool passes_on = pass.part != BackwardPart::parameters;
    std::vector<TaskId> after;
    if (passes_on && from >= 0 && from < stages)
      after.push_back(message(from, pass.forward, pass.micro_batch, true, {}));
    const std::uint32_t kernel = pass.forward ? 0 : pass.part == BackwardPart::all ? 1 : 2;
    last_ = push(static_cast<KernelId>(kernel), std::move(after));
    if (passes_on && to >= 0 && to < stages) message(stage, pass.forward, pass.micro_batch, false, {last_});
  }

  ClusterSpec cluster_;
  Bytes message_;
  Plan plan_;
  CostTable costs_;
  TaskId last_{};
};

}  // namespace tessera
