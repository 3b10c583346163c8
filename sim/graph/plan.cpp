#include "sim/graph/plan.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <unordered_map>

#include "sim/base/error.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/tensor_parallel.hpp"

namespace tessera {

std::string_view to_string(CollectiveKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                                   "send_recv"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Dimension dimension) {
  constexpr std::array<std::string_view, 4> kNames{"tp", "dp", "next stage", "previous stage"};
  return kNames[static_cast<std::size_t>(dimension)];
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
    if (spec.pp > 1) {
      activations_name_ = name("activations to the next stage");
      gradients_name_ = name("gradients to the previous stage");
    }
    localise();
    sort_by_stage(assign_stages(graph, spec.pp, spec.stage_layers));
  }

  Plan run() {
    for (stage_ = 0; stage_ < plan_.spec.pp; ++stage_) {
      tp_sum_.reset();
      reduction_.reset();
      for (const Pass& pass : one_f_one_b_order(stage_, plan_.spec.pp, 1, plan_.spec.micro_batches)) add(pass);
      flush_bucket();
      optimizer();
      plan_.stage_ends.push_back(plan_.tasks.size());
    }
    return std::move(plan_);
  }

 private:
  struct Local {
    KernelId kernel;
    Bytes sum{};       // over tp
    Bytes gradient{};  // completed for dp
  };

  /// Operators of one stage, in the order of the graph.
  struct StageOperators {
    std::vector<std::size_t> forward, backward, optimizer;
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

  void sort_by_stage(const StageMap& map) {
    stages_.resize(static_cast<std::size_t>(plan_.spec.pp));
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      StageOperators& stage = stages_[static_cast<std::size_t>(map.of_operator[i])];
      const Phase phase = graph_.operators[i].phase;
      auto& list = phase == Phase::forward     ? stage.forward
                   : phase == Phase::optimizer ? stage.optimizer
                                               : stage.backward;
      list.push_back(i);
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
    for (std::optional<TaskId>* before : {&wait, &received_}) {
      if (*before) task.after.push_back(**before);
      before->reset();
    }
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

  void add(const Pass& pass) {
    const StageOperators& stage = stages_[static_cast<std::size_t>(stage_)];
    const auto& operators = pass.forward ? stage.forward : stage.backward;
    if (operators.empty()) return;
    const auto micro_batch = static_cast<std::int32_t>(pass.micro_batch);
    const Phase phase = pass.forward ? Phase::forward : Phase::backward;
    if (has_neighbour(!pass.forward)) received_ = message(phase, micro_batch, true, {});
    const TaskId result = compute(operators, micro_batch);
    if (!has_neighbour(pass.forward)) return;
    std::vector<TaskId> after{result};
    if (tp_sum_) after.push_back(*tp_sum_);
    message(phase, micro_batch, false, std::move(after));
  }

  /// The operator that the next stage waits for: the last one that is no parameter gradient.
  TaskId compute(const std::vector<std::size_t>& operators, std::int32_t micro_batch) {
    const bool last = micro_batch + 1 == plan_.spec.micro_batches;
    TaskId result{};
    for (const std::size_t i : operators) {
      const Operator& op = graph_.operators[i];
      std::optional<TaskId> nothing;
      const TaskId id = compute(op, locals_[i], micro_batch, op.parameter_gradient ? nothing : tp_sum_);
      if (!op.parameter_gradient) result = id;
      if (locals_[i].sum > Bytes(0)) tp_sum_ = all_reduce(Dimension::tp, locals_[i].sum, task(id), id);
      if (last && locals_[i].gradient > Bytes(0)) add_gradient(locals_[i].gradient, id);
    }
    return result;
  }

  [[nodiscard]] bool has_neighbour(bool next) const { return next ? stage_ + 1 < plan_.spec.pp : stage_ > 0; }

  /// Sends to, or receives from, a neighbour. Sender and receiver count alike: by who sends, what, and micro-batch.
  TaskId message(Phase phase, std::int32_t micro_batch, bool receives, std::vector<TaskId> after) {
    const bool forward = phase == Phase::forward;
    const int sender = receives ? stage_ + (forward ? -1 : 1) : stage_;
    const std::int64_t number = (2 * sender + (forward ? 0 : 1)) * plan_.spec.micro_batches + micro_batch;
    return push({.work = Collective{.kind = CollectiveKind::send_recv,
                                    .over = forward ? Dimension::next : Dimension::previous,
                                    .bytes = graph_.hidden_states,
                                    .receives = receives,
                                    .message = static_cast<std::uint32_t>(number)},
                 .stream = StreamKind::communication,
                 .phase = phase,
                 .micro_batch = micro_batch,
                 .name = forward ? activations_name_ : gradients_name_,
                 .after = std::move(after)});
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
    for (const std::size_t i : stages_[static_cast<std::size_t>(stage_)].optimizer)
      compute(graph_.operators[i], locals_[i], last, reduction_);
  }

  const Graph& graph_;
  TensorParallel tensor_;
  Plan plan_;
  std::vector<Local> locals_;
  std::vector<StageOperators> stages_;
  int stage_ = 0;
  std::uint32_t tp_name_ = 0, dp_name_ = 0, activations_name_ = 0, gradients_name_ = 0;
  std::optional<TaskId> tp_sum_;     // the last one that nobody waits for yet
  std::optional<TaskId> received_;   // what the next kernel waits for
  std::optional<TaskId> reduction_;  // the last bucket
  Bytes filled_;
  TaskId bucket_end_{};
};

}  // namespace

std::vector<Rank> Plan::group(Rank rank, Dimension over) const {
  const auto self = static_cast<std::uint32_t>(rank), tp = static_cast<std::uint32_t>(spec.tp);
  const std::uint32_t stage = tp * static_cast<std::uint32_t>(spec.dp);
  if (over == Dimension::next || over == Dimension::previous) {
    const bool next = over == Dimension::next;
    if (next ? self + stage >= static_cast<std::uint32_t>(spec.world_size()) : self < stage) return {};
    return {rank, static_cast<Rank>(next ? self + stage : self - stage)};
  }
  const std::uint32_t stride = over == Dimension::tp ? 1 : tp;
  const auto size = static_cast<std::uint32_t>(over == Dimension::tp ? spec.tp : spec.dp);
  const std::uint32_t first = over == Dimension::tp ? self - self % tp : self - self % stage + self % tp;
  std::vector<Rank> ranks;
  ranks.reserve(size);
  for (std::uint32_t i = 0; i < size; ++i) ranks.push_back(static_cast<Rank>(first + i * stride));
  return ranks;
}

Plan make_plan(const Graph& graph, const ParallelSpec& spec) {
  return Planner(graph, spec).run();
}

}  // namespace tessera
