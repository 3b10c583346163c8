// What every rank does in one step: kernels and collectives on streams, after the parallelism is applied.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/graph/graph.hpp"

namespace tessera {

enum class TaskId : std::uint32_t {};
enum class KernelId : std::uint32_t {};  // index into Plan::kernels
enum class Rank : std::uint32_t {};

enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv };
std::string_view to_string(CollectiveKind kind);

/// Parallel dimensions; ranks are numbered with tp fastest, then dp, then pp (Megatron-LM's order). A stage of pp hands
/// activations to the `next` one and gradients to the `previous` one.
enum class Dimension : std::uint8_t { tp, dp, next, previous };
std::string_view to_string(Dimension dimension);

/// `bytes`: the larger of one rank's send and receive buffers (nccl-tests' size). A send_recv between stages is two
/// tasks, the sender's and the receiver's, that share a `message` number; `over` says where the sender sends.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Dimension over = Dimension::tp;
  Bytes bytes;
  bool receives = false;
  std::uint32_t message = 0;
};

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

struct ParallelSpec {
  int tp = 1, dp = 1, pp = 1;
  std::int64_t micro_batches = 1;          // per rank and step
  Bytes bucket = Bytes(25.0 * 1048576.0);  // gradient bucket of data parallelism (PyTorch DDP's default, 25 MiB)
  std::vector<int> stage_layers{};         // layers of each stage of pp; none: as equal as can be
  [[nodiscard]] int world_size() const { return tp * dp * pp; }
};

/// Tasks that a plan may have: kernels of a micro-batch x micro-batches. About 2 GB.
inline constexpr double kMostTasks = 2e7;

/// The ranks of a stage run the same program (tensor and data parallelism are symmetric).
struct Plan {
  ParallelSpec spec;
  std::vector<Kernel> kernels;  // distinct kernels; costs are kept parallel to this
  std::vector<Task> tasks;      // of the stages of pp, one after the other
  std::vector<std::string> names;
  std::vector<std::size_t> stage_ends{};  // where the tasks of each stage end; none: there is one stage

  [[nodiscard]] int stage_of(Rank rank) const { return static_cast<int>(rank) / (spec.tp * spec.dp); }
  [[nodiscard]] std::size_t stage_begin(int stage) const {
    return stage == 0 ? 0 : stage_ends[static_cast<std::size_t>(stage) - 1];
  }
  [[nodiscard]] std::size_t stage_end(int stage) const {
    return stage_ends.empty() ? tasks.size() : stage_ends[static_cast<std::size_t>(stage)];
  }
  /// The ranks that take part in a collective of `rank`, in ring order; of a message, its sender `rank` and the
  /// receiver, or nobody where there is no such neighbour.
  [[nodiscard]] std::vector<Rank> group(Rank rank, Dimension over) const;
};

/// Applies tensor and data parallelism to the graph of one micro-batch and repeats it per micro-batch.
/// tp: sums go to the communication stream; the next kernel that is no parameter gradient waits for them. kv heads are
/// copied where tp exceeds them, the vocabulary is padded to a multiple of 128 tp where tp > 1 (Megatron-LM).
/// dp: gradients are reduced in buckets (the first of 1 MiB, as PyTorch's), in the order backward completes them,
/// beside the last micro-batch's backward; the optimizer waits for all of them. pp: 1F1B over stages of whole layers;
/// receives are posted as early as can be, sends go beside the computation. Counts that cannot be honoured (heads over
/// tp, fewer layers than stages) are RunError naming both numbers. Not modelled: communicators with streams of their
/// own, sums of the gradients of copied kv heads, gathering logits, the last stage's copy of a tied embedding,
/// interleaved stages, recomputation.
Plan make_plan(const Graph& graph, const ParallelSpec& spec);

}  // namespace tessera
