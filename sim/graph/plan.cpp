#include "sim/graph/plan.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <unordered_map>

#include "sim/base/error.hpp"
#include "sim/graph/tensor_parallel.hpp"

namespace tessera {

std::string_view to_string(CollectiveKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                                   "send_recv"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Dimension dimension) {
  return dimension == Dimension::tp ? "tp" : "dp";
}

namespace {

constexpr Bytes kFirstBucket = Bytes(1048576.0);  // torch.distributed._DEFAULT_FIRST_BUCKET_BYTES

class Planner {
 public:
  Planner(const Graph& graph, const ParallelSpec& spec) : graph_(graph), tensor_(graph, spec.tp) {
    plan_.spec = spec;
    plan_.names = graph.names;
    tp_name_ = name("tensor-parallel sum");
    dp_name_ = name("gradient reduction");
    check();
    localise();
  }

  Plan run() {
    const std::int64_t micro_batches = plan_.spec.micro_batches;
    for (std::int64_t i = 0; i < micro_batches; ++i) micro_batch(static_cast<std::int32_t>(i), i + 1 == micro_batches);
    flush_bucket();
    optimizer();
    return std::move(plan_);
  }

 private:
  struct Local {
    KernelId kernel;
    Bytes sum{};       // over tp
    Bytes gradient{};  // completed for dp
  };

  std::uint32_t name(std::string_view text) {
    plan_.names.emplace_back(text);
    return static_cast<std::uint32_t>(plan_.names.size() - 1);
  }

  void check() const {
    const ParallelSpec& s = plan_.spec;
    if (s.dp < 1) throw RunError(fmt::format("dp is {}, expected 1 or more", s.dp));
    if (s.micro_batches < 1) throw RunError(fmt::format("micro_batches is {}, expected 1 or more", s.micro_batches));
    if (!(s.bucket > Bytes(0)))
      throw RunError(fmt::format("the bucket has {} B, expected more than 0", s.bucket.value()));
    const double tasks = static_cast<double>(graph_.operators.size()) * static_cast<double>(s.micro_batches);
    if (tasks > kMostTasks) {
      throw RunError(fmt::format("{} micro-batches of {} kernels are more than the {:.0f} tasks that a plan may have",
                                 s.micro_batches, graph_.operators.size(), kMostTasks));
    }
  }

  /// One rank's kernels, the same for every micro-batch.
  void localise() {
    std::unordered_map<Kernel, KernelId, KernelHash> ids;
    locals_.reserve(graph_.operators.size());
    const bool splits = plan_.spec.tp > 1, reduces = plan_.spec.dp > 1;
    for (const Operator& op : graph_.operators) {
      const Kernel kernel = tensor_.local(op);
      const auto [id, added] = ids.try_emplace(kernel, static_cast<KernelId>(plan_.kernels.size()));
      if (added) plan_.kernels.push_back(kernel);
      Local local{.kernel = id->second};
      if (splits) local.sum = op.reduced_over_tp;
      if (reduces && op.gradient_of != kNoParameter) {
        const Parameter& parameter = graph_.parameters[static_cast<std::size_t>(op.gradient_of)];
        local.gradient = static_cast<double>(tensor_.local_elements(parameter)) * element_size(graph_.dtype);
      }
      locals_.push_back(local);
    }
  }

  TaskId push(Task task) {
    plan_.tasks.push_back(std::move(task));
    return static_cast<TaskId>(plan_.tasks.size() - 1);
  }

  TaskId compute(const Operator& op, const Local& local, std::int32_t micro_batch, std::optional<TaskId>& wait) {
    Task task{.work = local.kernel,
              .stream = StreamKind::compute,
              .phase = op.phase,
              .layer = op.layer,
              .micro_batch = micro_batch,
              .name = op.name};
    if (wait) task.after.push_back(*wait);
    wait.reset();
    return push(std::move(task));
  }

  TaskId all_reduce(Dimension over, Bytes bytes, const Task& like, TaskId after) {
    return push({.work = Collective{.kind = CollectiveKind::all_reduce, .over = over, .bytes = bytes},
                 .stream = StreamKind::communication,
                 .phase = like.phase,
                 .layer = like.layer,
                 .micro_batch = like.micro_batch,
                 .name = over == Dimension::tp ? tp_name_ : dp_name_,
                 .after = {after}});
  }

  void micro_batch(std::int32_t index, bool last) {
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      const Operator& op = graph_.operators[i];
      if (op.phase == Phase::optimizer) break;
      std::optional<TaskId> nothing;
      const TaskId id = compute(op, locals_[i], index, op.parameter_gradient ? nothing : tp_sum_);
      if (locals_[i].sum > Bytes(0)) tp_sum_ = all_reduce(Dimension::tp, locals_[i].sum, task(id), id);
      if (last && locals_[i].gradient > Bytes(0)) add_gradient(locals_[i].gradient, id);
    }
  }

  /// By value: `push` moves the tasks.
  [[nodiscard]] Task task(TaskId id) const { return plan_.tasks[static_cast<std::size_t>(id)]; }

  void add_gradient(Bytes gradient, TaskId completed_by) {
    filled_ += gradient;
    bucket_end_ = completed_by;
    const Bytes limit = reduction_ ? plan_.spec.bucket : min(kFirstBucket, plan_.spec.bucket);
    if (filled_ >= limit) flush_bucket();
  }

  void flush_bucket() {
    if (!(filled_ > Bytes(0))) return;
    reduction_ = all_reduce(Dimension::dp, filled_, task(bucket_end_), bucket_end_);
    filled_ = Bytes(0);
  }

  void optimizer() {
    const auto last = static_cast<std::int32_t>(plan_.spec.micro_batches - 1);
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      if (graph_.operators[i].phase == Phase::optimizer) compute(graph_.operators[i], locals_[i], last, reduction_);
    }
  }

  const Graph& graph_;
  TensorParallel tensor_;
  Plan plan_;
  std::vector<Local> locals_;
  std::uint32_t tp_name_ = 0, dp_name_ = 0;
  std::optional<TaskId> tp_sum_;     // the last one that nobody waits for yet
  std::optional<TaskId> reduction_;  // the last bucket
  Bytes filled_;
  TaskId bucket_end_{};
};

}  // namespace

std::vector<Rank> Plan::group(Rank rank, Dimension over) const {
  const auto self = static_cast<std::uint32_t>(rank), tp = static_cast<std::uint32_t>(spec.tp);
  const std::uint32_t stride = over == Dimension::tp ? 1 : tp;
  const auto size = static_cast<std::uint32_t>(over == Dimension::tp ? spec.tp : spec.dp);
  const std::uint32_t first = over == Dimension::tp ? self - self % tp : self % tp;
  std::vector<Rank> ranks;
  ranks.reserve(size);
  for (std::uint32_t i = 0; i < size; ++i) ranks.push_back(static_cast<Rank>(first + i * stride));
  return ranks;
}

Plan make_plan(const Graph& graph, const ParallelSpec& spec) {
  return Planner(graph, spec).run();
}

}  // namespace tessera
