// Communication that the data's path waits for: tensor, context and expert parallelism, messages between stages.
#include <utility>

#include "sim/graph/planner.hpp"

namespace tessera {

TaskId Planner::collective(CollectiveKind kind, Dimension over, Bytes bytes, std::uint32_t name, Tasks after) {
  if (last_) after.insert(after.begin(), *last_);
  return communicate(kind, over, bytes, name, std::move(after));
}

TaskId Planner::communicate(CollectiveKind kind, Dimension over, Bytes bytes, std::uint32_t name, Tasks after) {
  Task task = here(StreamKind::communication, name);
  task.work = Collective{.kind = kind, .over = over, .bytes = bytes};
  task.after = std::move(after);
  return push(std::move(task));
}

/// The whole sequence again, for a product that tp divides.
void Planner::gather_sequence() {
  if (!(scattered_ > Bytes(0))) return;
  const Bytes bytes = std::exchange(scattered_, Bytes(0));
  const TaskId id =
      collective(CollectiveKind::all_gather, Dimension::tp, bytes, names_.sequence, std::exchange(inputs_, {}));
  (spec().asynchronous_tp ? later_ : inputs_).push_back(id);
}

/// Forward keeps its inputs divided; the gradient of the parameters wants them whole, beside that of the inputs.
void Planner::gather_inputs_again(const RankOperator& local) {
  if (!spec().sequence_parallel || !local.hidden_sum || phase_ == Phase::forward || replaying_) return;
  if (spec().tp_waits) return;  // autograd has kept them
  gathered_inputs_ = {collective(CollectiveKind::all_gather, Dimension::tp, local.sum, names_.sequence, {})};
}

/// Asynchronous: the sum runs beside the product that makes its operands, from where that could begin. In backward it
/// is of the gradients of several products (q, k, v; gate, up), which no one of them can hide.
void Planner::sum_over_tp(const RankOperator& local, std::optional<TaskId> before, const Tasks& inputs) {
  if (!(local.sum > Bytes(0))) return;
  const bool scatters = spec().sequence_parallel && local.hidden_sum;
  const CollectiveKind kind = scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  if (scatters) scattered_ = local.sum;
  const bool going_back = phase_ == Phase::backward && !replaying_;
  if (going_back && spec().tp_waits) {
    open_sum_ = Collective{.kind = kind, .over = Dimension::tp, .bytes = local.sum};
    return;
  }
  Tasks after = std::exchange(inputs_, {});
  if (spec().asynchronous_tp && scatters && !going_back) {
    after.insert(after.end(), inputs.begin(), inputs.end());
    if (before) after.push_back(*before);
    inputs_ = {communicate(kind, Dimension::tp, local.sum, names_.tp, std::move(after))};
  } else {
    inputs_ = {collective(kind, Dimension::tp, local.sum, names_.tp, std::move(after))};
  }
}

void Planner::begin_open_sum() {
  if (!open_sum_) return;
  const Collective sum = *std::exchange(open_sum_, std::nullopt);
  inputs_ = {collective(sum.kind, Dimension::tp, sum.bytes, names_.tp, std::exchange(inputs_, {}))};
}

bool Planner::has_neighbour(bool next) const {
  return next ? virtual_stage() + 1 < spec().stages() : virtual_stage() > 0;
}

Bytes Planner::message_bytes() const {
  const bool divided = spec().tp > 1 && (spec().sequence_parallel || spec().scattered_messages);
  return divided ? graph_.hidden_states / static_cast<double>(spec().tp) : graph_.hidden_states;
}

/// Sender and receiver count alike: by who sends, what, and micro-batch.
std::int64_t Planner::message_number(bool forward, int sender) const {
  return (2 * sender + (forward ? 0 : 1)) * spec().micro_batches + micro_batch_;
}

/// Of the virtual stage before or after, the replica whose turn this micro-batch is.
int Planner::program_of_neighbour(bool next) const {
  const int stage = (stage_ + (next ? 1 : spec().pp - 1)) % spec().pp;
  return spec().first_program(stage) + static_cast<int>(micro_batch_ % spec().replicas_of(stage));
}

TaskId Planner::message(bool forward, bool receives, int other, std::int64_t number, Bytes bytes, std::uint32_t name,
                        Tasks after) {
  const int onwards = forward == receives ? program() - other : other - program();
  Task task = here(StreamKind::communication, name);
  task.layer = -1;
  task.work = Collective{.kind = CollectiveKind::send_recv,
                         .over = forward ? Dimension::next : Dimension::previous,
                         .bytes = bytes,
                         .receives = receives,
                         .message = static_cast<std::uint32_t>(number),
                         .away = (onwards + spec().programs()) % spec().programs()};
  task.after = std::move(after);
  return push(std::move(task));
}

void Planner::receive(bool forward) {
  if (!has_neighbour(!forward)) return;
  const int sender = virtual_stage() + (forward ? -1 : 1);
  received_ = message(forward, true, program_of_neighbour(!forward), message_number(forward, sender), message_bytes(),
                      forward ? names_.activations : names_.gradients, {});
  if (spec().tp == 1) return;
  if (spec().sequence_parallel) {
    scattered_ = graph_.hidden_states;
  } else if (spec().scattered_messages) {
    received_ =
        communicate(CollectiveKind::all_gather, Dimension::tp, graph_.hidden_states, names_.sequence, {*received_});
  }
}

void Planner::send(bool forward) {
  if (!has_neighbour(forward)) return;
  scattered_ = Bytes(0);
  Tasks after = inputs_;
  if (result_) after.insert(after.begin(), *result_);
  message(forward, false, program_of_neighbour(forward), message_number(forward, virtual_stage()), message_bytes(),
          forward ? names_.activations : names_.gradients, std::move(after));
}

}  // namespace tessera
