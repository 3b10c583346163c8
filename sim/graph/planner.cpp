#include "sim/graph/planner.hpp"

#include <utility>

#include "sim/base/error.hpp"

namespace tessera {

Planner::Planner(const Graph& graph, const ParallelSpec& spec)
    : graph_(graph), plan_{.spec = spec, .kernels = {}, .tasks = {}, .names = graph.names}, ranks_(graph, plan_.spec) {
  names_ = {.tp = name("tensor-parallel sum"),
            .sequence = name("sequence gather"),
            .cp = name("keys and values to the next rank"),
            .ep = name("tokens to and from experts"),
            .dp = name("gradient reduction"),
            .parameters = name("parameter gather"),
            .activations = name("activations to the next stage"),
            .gradients = name("gradients to the previous stage"),
            .tied = name("tied embedding gradient")};
  plan_.wraps = spec.pp > 1 && (spec.chunks > 1 || graph.tied != kNoParameter);
}

Plan Planner::run() {
  for (int stage = 0; stage < spec().pp; ++stage) {
    for (int replica = 0; replica < spec().replicas_of(stage); ++replica) {
      begin_program(stage, replica);
      const std::vector<Pass> order = pass_order(spec(), stage, replica);
      last_micro_batch_ = order.back().micro_batch;
      for (const Pass& pass : order) add(pass);
      finish_program();
      plan_.program_ends.push_back(plan_.tasks.size());
    }
  }
  plan_.kernels = ranks_.take_kernels();
  return std::move(plan_);
}

std::uint32_t Planner::name(std::string_view text) {
  plan_.names.emplace_back(text);
  return static_cast<std::uint32_t>(plan_.names.size() - 1);
}

TaskId Planner::push(Task task) {
  plan_.tasks.push_back(std::move(task));
  return static_cast<TaskId>(plan_.tasks.size() - 1);
}

Task Planner::here(StreamKind stream, std::uint32_t name) const {
  return {.work = KernelId{},
          .stream = stream,
          .phase = phase_,
          .layer = layer_,
          .micro_batch = static_cast<std::int32_t>(micro_batch_),
          .name = name};
}

void Planner::begin_program(int stage, int replica) {
  stage_ = stage;
  replica_ = replica;
  gradient_sums_ = 0;
  inputs_.clear(), gathered_inputs_.clear(), later_.clear();
  received_.reset(), last_.reset(), result_.reset();
  scattered_ = Bytes(0);
  open_sum_.reset();
  buckets_ = {Bucket{.over = Dimension::dp}, Bucket{.over = spec().ep > 1 ? Dimension::edp : Dimension::dp}};
  layer_ends_ = {};
}

void Planner::add(const Pass& pass) {
  chunk_ = pass.chunk;
  micro_batch_ = pass.micro_batch;
  const auto& list = pass.forward ? operators().forward : operators().backward;
  if (list.empty()) return;
  phase_ = pass.forward ? Phase::forward : Phase::backward;
  layer_ = -1;
  const bool passes_on = pass.part != BackwardPart::parameters;
  if (passes_on) receive(pass.forward);
  run_pass(pass, list);
  if (passes_on) send(pass.forward);
}

bool Planner::skipped(const Operator& op, BackwardPart part) const {
  if (part == BackwardPart::all) return false;
  return op.parameter_gradient != (part == BackwardPart::parameters);
}

void Planner::run_pass(const Pass& pass, const std::vector<std::size_t>& list) {
  bool entered = false;
  gathered_outside_ = false;
  result_.reset();
  for (const std::size_t i : list) {
    const Operator& op = graph_.operators[i];
    if (skipped(op, pass.part)) continue;
    if (!entered || op.layer != layer_) {
      if (entered) leave_layer();
      entered = true;
      layer_ = op.layer;
      enter_layer(op.layer);
      if (!pass.forward && pass.part != BackwardPart::parameters) recompute(op);
    }
    phase_ = op.phase;
    add_operator(i);
  }
  begin_open_sum();
  if (entered) leave_layer();
}

/// What the layer's backward needs and forward has not kept, at once when backward reaches the layer.
void Planner::recompute(const Operator& op) {
  if (spec().recompute == Recompute::none || op.layer < 0) return;
  const auto forward = operators().forward_of_layer.find(op.layer);
  if (forward == operators().forward_of_layer.end()) return;
  replaying_ = true;
  std::size_t product = 0;
  for (const std::size_t i : forward->second) {
    const Operator& again = graph_.operators[i];
    if (std::holds_alternative<GemmShape>(again.kernel.shape)) ++product;
    if (recomputes(again, product)) add_operator(i);
  }
  replaying_ = false;
}

bool Planner::recomputes(const Operator& op, std::size_t product) const {
  switch (spec().recompute) {
    case Recompute::none:
      return false;
    case Recompute::selective:
      return op.core_attention;
    case Recompute::operators:
      if (std::holds_alternative<AttentionShape>(op.kernel.shape)) return false;
      return !std::holds_alternative<GemmShape>(op.kernel.shape) || product % 2 == 0;
    case Recompute::full:
      return true;
  }
  return false;
}

Planner::Tasks Planner::take_inputs() {
  return std::exchange(inputs_, std::exchange(later_, {}));
}

TaskId Planner::compute(const RankOperator& local, const Operator& op, Tasks after) {
  if (received_) after.push_back(*std::exchange(received_, std::nullopt));
  Task task = here(StreamKind::compute, op.name);
  task.work = local.kernel;
  task.layer = op.layer;
  task.after = std::move(after);
  const TaskId id = push(std::move(task));
  last_ = id;
  return id;
}

void Planner::add_operator(std::size_t index) {
  const Operator& op = graph_.operators[index];
  const RankOperator& local = ranks_.of(index);
  if (op.parameter_gradient) {
    const TaskId id = compute(local, op, std::exchange(gathered_inputs_, {}));
    return add_gradient(local, id);
  }
  begin_open_sum();
  if (local.split) gather_sequence();
  if (local.sum > Bytes(0)) gather_inputs_again(local);
  if (local.routed > Bytes(0))
    inputs_ = {collective(CollectiveKind::all_to_all, Dimension::ep, local.routed, names_.ep, take_inputs())};
  const Tasks inputs = take_inputs();
  if (local.passed > Bytes(0)) {
    Tasks before = inputs;
    inputs_ = {collective(CollectiveKind::send_recv, Dimension::cp, local.passed, names_.cp, std::move(before))};
  }
  const std::optional<TaskId> before = last_;
  const TaskId id = compute(local, op, inputs);
  result_ = id;
  if (local.routed > Bytes(0))
    inputs_ = {collective(CollectiveKind::all_to_all, Dimension::ep, local.routed, names_.ep, {})};
  sum_over_tp(local, before, inputs);
  if (!replaying_) add_gradient(local, id);
}

void Planner::finish_program() {
  micro_batch_ = last_micro_batch_;
  for (Bucket& bucket : buckets_) flush(bucket);
  optimizer(exchange_tied_gradients());
  gather_after_step();
}

}  // namespace tessera
