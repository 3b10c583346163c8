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

/// Parallel dimensions; ranks are numbered with tp fastest, then dp (Megatron-LM's order).
enum class Dimension : std::uint8_t { tp, dp };
std::string_view to_string(Dimension dimension);

/// `bytes`: the larger of one rank's send and receive buffers (nccl-tests' size).
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Dimension over = Dimension::tp;
  Bytes bytes;
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
  int tp = 1, dp = 1;
  std::int64_t micro_batches = 1;          // per rank and step
  Bytes bucket = Bytes(25.0 * 1048576.0);  // gradient bucket of data parallelism (PyTorch DDP's default, 25 MiB)
  [[nodiscard]] int world_size() const { return tp * dp; }
};

/// Tasks that a plan may have: kernels of a micro-batch x micro-batches. About 2 GB.
inline constexpr double kMostTasks = 2e7;

/// Every rank runs the same program (tensor and data parallelism are symmetric).
struct Plan {
  ParallelSpec spec;
  std::vector<Kernel> kernels;  // distinct kernels; costs are kept parallel to this
  std::vector<Task> tasks;
  std::vector<std::string> names;

  /// The ranks that take part in a collective of `rank`, in ring order.
  [[nodiscard]] std::vector<Rank> group(Rank rank, Dimension over) const;
};

/// Applies tensor and data parallelism to the graph of one micro-batch and repeats it per micro-batch.
/// tp: sums go to the communication stream; the next kernel that is no parameter gradient waits for them. kv heads are
/// copied where tp exceeds them, the vocabulary is padded to a multiple of 128 tp where tp > 1 (Megatron-LM).
/// dp: gradients are reduced in buckets (the first of 1 MiB, as PyTorch's), in the order backward completes them,
/// beside the last micro-batch's backward; the optimizer waits for all of them. Counts that cannot be honoured (heads
/// over tp) are RunError naming both numbers. Not modelled: communicators with streams of their own, sums of the
/// gradients of copied kv heads, gathering logits.
Plan make_plan(const Graph& graph, const ParallelSpec& spec);

}  // namespace tessera
