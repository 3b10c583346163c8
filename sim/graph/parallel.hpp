// How a job is spread over GPUs: the degrees of every parallelism, and what each framework decides about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// Groups of ranks that communicate. dp: all ranks that hold the same parameters (data and context parallel together);
/// edp: those that hold the same experts. A stage of pp hands activations to the `next` one and gradients to the
/// `previous` one.
enum class Dimension : std::uint8_t { tp, dp, next, previous, cp, ep, edp };
std::string_view to_string(Dimension dimension);

/// Order of a pipeline stage's passes. gpipe: all forwards, then all backwards (arXiv 1811.06965). one_f_one_b: in
/// turn (PipeDream, arXiv 1806.03377), interleaved where a device has several chunks (arXiv 2104.04473). zero_bubble:
/// gradients of parameters apart from those of inputs, ZB-H1 of Qi et al. (arXiv 2401.10241).
enum class PipelineSchedule : std::uint8_t { gpipe, one_f_one_b, zero_bubble };

/// What data-parallel ranks divide (ZeRO, arXiv 1910.02054): zero1 the optimizer's state, zero2 gradients too, zero3
/// (FSDP) parameters too.
enum class Sharding : std::uint8_t { none, zero1, zero2, zero3 };

/// What backward computes again instead of keeping it: the attention core (Korthikanti et al., arXiv 2205.05198); all
/// but attention and every second matrix product of a layer (PyTorch's per-operator checkpoints); whole layers.
enum class Recompute : std::uint8_t { none, selective, operators, full };

struct ParallelSpec {
  int tp = 1, dp = 1, pp = 1;
  std::int64_t micro_batches = 1;          // per rank and step
  Bytes bucket = Bytes(25.0 * 1048576.0);  // gradient bucket of data parallelism (PyTorch DDP's default, 25 MiB)
  std::vector<int> stage_layers{};         // layers of each stage, chunk by chunk; none: as equal as can be
  std::vector<int> stage_replicas{};       // of each stage inside a pipeline, in turn for micro-batches; none: 1
  int cp = 1;                              // ranks that share every sequence (ring attention)
  int ep = 1;                              // ranks of dp that share the experts
  int chunks = 1;                          // stages per device (interleaved pipeline)
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Sharding sharding = Sharding::none;
  Recompute recompute = Recompute::none;
  bool sequence_parallel = false;  // tp divides what lies between its sums, too
  bool overlap = true;             // gradients are reduced beside backward, sharded parameters gathered beside forward
  bool asynchronous_tp = false;    // sums over tp run beside their own product, which is cut into parts
  bool tp_waits = false;           // gradients' sums are waited for at once (DTensor), not behind parameters' gradients
  bool scattered_messages = false;    // a stage sends 1 / tp of its results, the next one gathers them (Megatron-LM)
  std::optional<Dtype> reduced_as{};  // type of reduced gradients; none: the model's
  double expert_load = 1;             // of the fullest expert-parallel rank over the mean: skew, or the capacity factor

  [[nodiscard]] int world_size() const { return ranks_per_program() * programs(); }
  [[nodiscard]] int stages() const { return pp * chunks; }

  /// Every replica of a stage of pp has a program, which tp x cp x dp ranks run; those of a stage are neighbours.
  [[nodiscard]] int ranks_per_program() const { return tp * cp * dp; }
  [[nodiscard]] int programs() const { return first_program(pp); }
  [[nodiscard]] int first_program(int stage) const;
  [[nodiscard]] int stage_of(int program) const;
  [[nodiscard]] int replicas_of(int stage) const {
    return stage_replicas.empty() ? 1 : stage_replicas[static_cast<std::size_t>(stage)];
  }
};

}  // namespace tessera
