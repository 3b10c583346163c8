// Data parallelism: gradients in buckets, sharded parameters around the layers that use them, the optimizer.
#include <utility>

#include "sim/graph/planner.hpp"

namespace tessera {
namespace {

constexpr Bytes kFirstBucket = Bytes(1048576.0);  // torch.distributed._DEFAULT_FIRST_BUCKET_BYTES

Bytes of_layer(const std::map<std::int32_t, Bytes>& parameters, std::int32_t layer) {
  const auto found = parameters.find(layer);
  return found == parameters.end() ? Bytes(0) : found->second;
}

Bytes total(const std::map<std::int32_t, Bytes>& parameters) {
  Bytes sum;
  for (const auto& [layer, bytes] : parameters) sum += bytes;
  return sum;
}

}  // namespace

/// FSDP gathers a layer's parameters for every pass, those outside the layers once for forward and backward. In a
/// pipeline, and with gradients or state alone divided, they stay for the whole step.
bool Planner::gathers(std::int32_t layer) const {
  if (spec().sharding == Sharding::none || spec().dp * spec().cp == 1 || !spec().overlap) return false;
  if (spec().sharding == Sharding::zero3 && spec().pp == 1) return phase_ == Phase::forward || layer >= 0;
  return phase_ == Phase::forward && micro_batch_ == 0;
}

/// At most two layers' parameters at a time: gathering waits until the layer before the last one is done with its own.
void Planner::enter_layer(std::int32_t layer) {
  if (!gathers(layer) || (layer < 0 && std::exchange(gathered_outside_, true))) return;
  gather_parameters(layer, layer_ends_[1] ? Tasks{*layer_ends_[1]} : Tasks{});
}

void Planner::gather_parameters(std::int32_t layer, const Tasks& after) {
  for (const bool experts : {false, true}) {
    const Bytes bytes = of_layer(experts ? operators().experts : operators().parameters, layer);
    if (!(bytes > Bytes(0)) || (experts && spec().dp == spec().ep)) continue;
    const Dimension over = experts ? Dimension::edp : Dimension::dp;
    inputs_.push_back(communicate(CollectiveKind::all_gather, over, bytes, names_.parameters, after));
  }
}

void Planner::leave_layer() {
  if (spec().sharding == Sharding::zero3 && phase_ != Phase::forward)
    for (Bucket& bucket : buckets_) flush(bucket);
  layer_ends_[1] = std::exchange(layer_ends_[0], last_);
}

/// Divided gradients are reduced in every micro-batch, unless a pipeline keeps them whole.
bool Planner::reduces_now() const {
  const bool divided = spec().sharding == Sharding::zero2 || spec().sharding == Sharding::zero3;
  return (divided && spec().pp == 1) || micro_batch_ == last_micro_batch_;
}

void Planner::add_gradient(const RankOperator& local, TaskId completed_by) {
  if (!(local.gradient > Bytes(0)) || !reduces_now()) return;
  Bucket& bucket = buckets_[local.expert_gradient ? 1 : 0];
  bucket.filled += local.gradient;
  bucket.completed_by = completed_by;
  const Bytes limit = bucket.last ? spec().bucket : min(kFirstBucket, spec().bucket);
  if (spec().overlap && spec().sharding != Sharding::zero3 && bucket.filled >= limit) flush(bucket);
}

void Planner::flush(Bucket& bucket) {
  if (!(bucket.filled > Bytes(0))) return;
  const Task& completed = plan_.tasks[static_cast<std::size_t>(bucket.completed_by)];
  const CollectiveKind kind =
      spec().sharding == Sharding::none ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
  Task task = here(StreamKind::communication, names_.dp);
  task.phase = completed.phase;
  task.layer = completed.layer;
  Collective sum{.kind = kind, .over = bucket.over, .bytes = std::exchange(bucket.filled, Bytes(0))};
  if (spec().replicas_of(stage_) > 1) sum.message = ++gradient_sums_;
  task.work = sum;
  task.after = {bucket.completed_by};
  bucket.last = push(std::move(task));
}

Planner::Tasks Planner::reductions() const {
  Tasks ends;
  for (const Bucket& bucket : buckets_)
    if (bucket.last) ends.push_back(*bucket.last);
  return ends;
}

/// The first and the last stage both hold the table: each adds the other's gradient to its own. A replica gets it from
/// one of the other stage's, and gives it to those whose turn it is.
Planner::Tasks Planner::exchange_tied_gradients() {
  Tasks after = reductions();
  if (graph_.tied == kNoParameter || spec().pp == 1) return after;
  const bool first = stage_ == 0, last = stage_ + 1 == spec().pp;
  if (!first && !last) return after;
  const Bytes bytes = ranks_.bytes_of(graph_.tied);
  const std::int64_t number = 2 * std::int64_t{spec().stages()} * spec().micro_batches;
  Tasks before = after;
  if (last_) before.push_back(*last_);
  const int there = first ? spec().pp - 1 : 0, ours = spec().replicas_of(stage_), theirs = spec().replicas_of(there);
  const int others = spec().first_program(there);
  for (int other = others + replica_; other < others + theirs; other += ours)
    after.push_back(message(last, false, other, number + other, bytes, names_.tied, before));
  after.push_back(message(first, true, others + replica_ % theirs, number + program(), bytes, names_.tied, {}));
  return after;
}

void Planner::optimizer(Tasks after) {
  phase_ = Phase::optimizer;
  for (chunk_ = 0; chunk_ < spec().chunks; ++chunk_) {
    for (const std::size_t i : operators().optimizer)
      compute(ranks_.of(i), graph_.operators[i], std::exchange(after, {}));
  }
  const bool copies = graph_.tied != kNoParameter && spec().pp > 1 && stage_ + 1 == spec().pp;
  const auto& of_step = ranks_.stage(0).optimizer;
  if (!copies || of_step.empty()) return;
  RankOperator table = ranks_.of(of_step.front());
  table.kernel = ranks_.optimizer_kernel(ranks_.local_elements(graph_.tied));
  compute(table, graph_.operators[of_step.front()], std::exchange(after, {}));
}

/// Without overlap, divided parameters are gathered at the end of the step.
void Planner::gather_after_step() {
  if (spec().sharding == Sharding::none || spec().dp * spec().cp == 1 || spec().overlap) return;
  layer_ = -1;
  for (chunk_ = 0; chunk_ < spec().chunks; ++chunk_) {
    const Bytes dense = total(operators().parameters), experts = total(operators().experts);
    if (dense > Bytes(0)) collective(CollectiveKind::all_gather, Dimension::dp, dense, names_.parameters, {});
    if (experts > Bytes(0) && spec().dp > spec().ep)
      collective(CollectiveKind::all_gather, Dimension::edp, experts, names_.parameters, {});
  }
}

}  // namespace tessera
