// What every rank does in one step: kernels and collectives on streams, after the parallelism is applied.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/graph/graph.hpp"
#include "sim/graph/parallel.hpp"

namespace tessera {

enum class TaskId : std::uint32_t {};
enum class KernelId : std::uint32_t {};  // index into Plan::kernels
enum class Rank : std::uint32_t {};

enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv };
std::string_view to_string(CollectiveKind kind);

/// `bytes`: the larger of one rank's send and receive buffers (nccl-tests' size). A send_recv between stages is two
/// tasks, the sender's and the receiver's, that share a `message` number; `over` says where the sender sends, to the
/// program so many `away`. One over cp is a step of ring attention: every rank sends to its neighbour. Gradient sums of
/// a stage with replicas have a task in each program, with one number, above 0.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Dimension over = Dimension::tp;
  Bytes bytes;
  bool receives = false;
  std::uint32_t message = 0;
  std::int32_t away = 1;
};

/// A message between stages, which two tasks make.
inline bool is_message(const Collective& collective) {
  return collective.over == Dimension::next || collective.over == Dimension::previous;
}
/// Several tasks make it, which its number joins; of others all members run one task.
inline bool meets_by_number(const Collective& collective) {
  return is_message(collective) || collective.message > 0;
}

enum class StreamKind : std::uint8_t { compute, communication };

/// Tasks of one stream start in order, collectives of each dimension apart; a task also waits for `after`.
struct Task {
  std::variant<KernelId, Collective> work;
  StreamKind stream = StreamKind::compute;
  Phase phase = Phase::forward;
  std::int32_t layer = -1, micro_batch = 0;
  std::uint32_t name = 0;       // index into Plan::names
  std::vector<TaskId> after{};  // dependencies on other streams
};

/// Tasks that a plan may have: kernels of a micro-batch x micro-batches. About 2 GB.
inline constexpr double kMostTasks = 2e7;

/// The ranks of a stage run the same program, those of each of its replicas one of their own. They are numbered with tp
/// fastest, then cp, dp, a stage's replicas and pp (Megatron-LM's order); ep takes neighbours of dp.
struct Plan {
  ParallelSpec spec;
  std::vector<Kernel> kernels;  // distinct kernels; costs are kept parallel to this
  std::vector<Task> tasks;      // of the programs, one after the other
  std::vector<std::string> names;
  std::vector<std::size_t> program_ends{};  // where the tasks of each program end; none: there is one
  bool wraps = false;                       // the last stage's next one is the first (interleaved, tied embeddings)

  [[nodiscard]] int program_of(Rank rank) const { return static_cast<int>(rank) / spec.ranks_per_program(); }
  [[nodiscard]] std::size_t program_begin(int program) const {
    return program == 0 ? 0 : program_ends[static_cast<std::size_t>(program) - 1];
  }
  [[nodiscard]] std::size_t program_end(int program) const {
    return program_ends.empty() ? tasks.size() : program_ends[static_cast<std::size_t>(program)];
  }
  /// The ranks that take part in a collective of `rank`, in ring order; of a message, its sender `rank` and the
  /// receiver so many programs `away`, or nobody where there is none.
  [[nodiscard]] std::vector<Rank> group(Rank rank, Dimension over, int away = 1) const;
};

/// Applies a parallel plan to the graph of one micro-batch and repeats it per micro-batch.
/// tp: sums go to the communication stream; the next kernel that is no parameter gradient waits for them. kv heads are
/// copied where tp exceeds them, the vocabulary is padded to a multiple of 128 tp where tp > 1 (Megatron-LM). With
/// sequence parallelism a sum is a reduce-scatter and, before the next split product, an all-gather, which backward
/// repeats beside the gradient of the inputs.
/// dp: gradients are reduced in buckets (the first of 1 MiB, as PyTorch's), in the order backward completes them,
/// beside the last micro-batch's backward; the optimizer waits for all of them. Sharded: see sim/graph/README.md.
/// pp: passes over stages of whole layers in the schedule's order; receives are posted as early as can be, sends go
/// beside the computation. Replica k of a stage of r takes the micro-batches k, k + r, ... Counts that cannot be
/// honoured (heads over tp, fewer layers than stages x chunks) are RunError naming both numbers. Not modelled: sums of
/// the gradients of copied kv heads, gathering logits.
Plan make_plan(const Graph& graph, const ParallelSpec& spec);

}  // namespace tessera
