// Every key of a workload and of how it is spread, its default and its checks.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/app/graph_names.hpp"
#include "sim/app/scenario_checks.hpp"

namespace tessera {

static constexpr std::array<std::string_view, 4> enum_names(Recompute) {
  return {"none", "selective", "operators", "full"};
}
static constexpr std::array<std::string_view, 3> enum_names(PipelineSchedule) {
  return {"gpipe", "1f1b", "zero_bubble"};
}
static constexpr std::array<std::string_view, 4> enum_names(Sharding) {
  return {"none", "zero1", "zero2", "zero3"};
}
static constexpr std::array<std::string_view, 2> enum_names(AllocatorState) {
  return {"warm", "cold"};
}

namespace {

// Far above any use; below what overflows a product or fills the memory with requests.
constexpr std::int64_t kMostSamples = 1 << 20, kMostSamplesPerStep = 1 << 24, kLongestSequence = 1 << 24;

void check_count(Reader& r, std::string_view key, const std::optional<std::int64_t>& value, std::int64_t most) {
  check_positive(r, key, value);
  if (value && *value > most) r.error(key, fmt::format("must be at most {}, found {}", most, *value));
}

/// Batches have other names in training and inference, so that a reader knows what is meant.
void check_batches(Reader& r, const WorkloadSection& s) {
  const bool training = s.mode == Mode::training;
  const auto need = [&](std::string_view key, bool given, bool wanted) {
    if (wanted && !given)
      r.error("", fmt::format("missing key '{}', which mode {} needs", key, enum_names(s.mode)[training]));
    if (!wanted && given)
      r.error(key, fmt::format("mode {} takes {}", enum_names(s.mode)[training],
                               training ? "global_batch and micro_batch" : "batch"));
  };
  need("batch", s.batch.has_value(), !training);
  need("global_batch", s.global_batch.has_value(), training);
  if (!training) need("micro_batch", s.micro_batch.has_value(), false);
  if (!training && s.optimizer.value_or(OptimizerKind::none) != OptimizerKind::none)
    r.error("optimizer", "mode inference has no optimizer");
}

}  // namespace

void describe(Reader& r, WorkloadSection& s) {
  std::optional<std::int64_t> fixed_sequence;  // of a known model
  bool attends = true;
  r.required("model", s.model, "a built-in model (`tessera list models`) or a Hugging Face config.json");
  if (r.has("model") && r.ok())
    look_up(r, "model", [&] {
      const ModelConfig model = find_model(s.model);
      fixed_sequence = model.fixed_sequence;
      attends = model.network.empty();
    });
  r.required("mode", s.mode, "inference: one forward pass over the prompts (prefill); training: one optimizer step");
  r.optional("dtype", s.dtype, "of weights, activations and gradients");
  r.optional("sequence", s.sequence, "tokens per sample; models of images have none");
  r.optional("batch", s.batch, "inference: prompts, over all replicas");
  r.optional("global_batch", s.global_batch, "training: samples per step, over all replicas");
  r.optional("micro_batch", s.micro_batch,
             "training: samples that one replica computes at once; a policy that chooses needs none");
  r.optional("attention", s.attention, "eager writes the score matrix to memory, flash does not");
  if (r.has("attention") && !attends) r.error("attention", fmt::format("{} has none; leave it out", s.model));
  r.optional("recompute", s.recompute,
             "activations computed again in backward: the attention core, all but every second product, whole layers");
  r.optional("optimizer", s.optimizer, "default: adam in training (fp32 master weights and two moments)");
  r.optional("products", s.products, "of linear layers' products, where another (fp8 training)");
  r.optional("row_scales", s.row_scales,
             "narrow products scale every row of their operands (torchao's rowwise recipe), not whole tensors");
  r.optional("fused", s.fused, "chains of elementwise operators run as one kernel, as torch.compile makes them");
  r.optional("cuda_graph", s.cuda_graph, "kernels are launched as one graph: the host costs nothing");
  r.optional("allocator", s.allocator,
             "cold: the first step, or one after PyTorch's empty_cache: the host allocates every tensor anew");
  if (r.has("sequence")) check_count(r, "sequence", s.sequence, kLongestSequence);
  if (!r.has("sequence") && !r.printing() && fixed_sequence.value_or(0) == 0)
    r.error("", "missing key 'sequence': the model's samples are tokens");
  if (r.has("sequence") && fixed_sequence.value_or(0) > 0 && s.sequence != 1)
    r.error("sequence", fmt::format("found {}, but samples of {} are not tokens; leave it out", s.sequence, s.model));
  check_count(r, "batch", s.batch, kMostSamples);
  check_count(r, "global_batch", s.global_batch, kMostSamplesPerStep);
  check_count(r, "micro_batch", s.micro_batch, kMostSamples);
  if (s.row_scales && !s.products) r.error("row_scales", "is about 'products', and there are none");
  if (s.recompute != Recompute::none && s.mode == Mode::inference)
    r.error("recompute", "mode inference keeps no activations");
  if (r.has("mode") && s.mode == Mode::training && element_size(s.dtype) < Bytes(2))
    r.error("dtype", fmt::format("training in {} is not supported; use fp32, tf32, fp16, bf16", to_string(s.dtype)));
  if (r.has("mode")) check_batches(r, s);
}

void describe(Reader& r, ParallelSection& s) {
  r.optional("tp", s.tp, "tensor parallelism: GPUs that share every layer");
  r.optional("dp", s.dp, "data parallelism: replicas; default: GPUs / (tp x pp)");
  r.optional("pp", s.pp, "pipeline parallelism: stages of consecutive layers");
  r.optional("cp", s.cp, "context parallelism: GPUs that share every sequence (ring attention)");
  r.optional("ep", s.ep, "expert parallelism: replicas that share the experts; divides dp");
  r.optional("chunks", s.chunks, "stages per GPU: above 1, 1F1B is interleaved");
  r.optional("schedule", s.schedule, "order of a stage's passes; zero_bubble is ZB-H1");
  r.optional("sharding", s.sharding, "what replicas divide: optimizer state, gradients too, parameters too (FSDP)");
  r.optional("sequence_parallel", s.sequence_parallel, "tp divides what lies between its sums, too");
  r.optional("asynchronous_tp", s.asynchronous_tp, "sums over tp run beside their own product");
  r.optional("tp_waits", s.tp_waits,
             "gradients' sums over tp are waited for at once (PyTorch's DTensor); else they hide behind parameters' "
             "gradients (Megatron-LM)");
  r.optional("overlap", s.overlap, "gradients are reduced beside backward, sharded parameters gathered beside forward");
  r.optional("expert_load", s.expert_load, "load of the fullest expert-parallel rank over the mean: skew or capacity");
  r.optional("reduced_as", s.reduced_as, "type of reduced gradients; default: the workload's dtype");
  r.optional("stage_layers", s.stage_layers, "layers of each stage, chunk by chunk; default: as equal as can be");
  r.optional("stage_replicas", s.stage_replicas,
             "GPUs (x tp x cp) of each stage, which take the micro-batches in turn; default: 1 each");
  r.optional("bucket", s.bucket, "gradients are reduced in buckets of this size");
  check_positive(r, "tp", std::optional(s.tp));
  check_positive(r, "dp", s.dp);
  check_positive(r, "pp", std::optional(s.pp));
  check_positive(r, "cp", std::optional(s.cp));
  check_positive(r, "ep", std::optional(s.ep));
  check_positive(r, "chunks", std::optional(s.chunks));
  const auto none = [](int count) { return count < 1; };
  if (!s.stage_replicas.empty() &&
      (static_cast<int>(s.stage_replicas.size()) != s.pp || std::ranges::any_of(s.stage_replicas, none)))
    r.error("stage_replicas", fmt::format("expected a count of at least 1 for each of the {} stages of pp, found [{}]",
                                          s.pp, fmt::join(s.stage_replicas, ", ")));
  if (!(s.expert_load >= 1)) r.error("expert_load", fmt::format("must be 1 or more, found {}", s.expert_load));
  if (r.has("bucket") && s.bucket <= Bytes()) r.error("bucket", "must be positive");
}

}  // namespace tessera
