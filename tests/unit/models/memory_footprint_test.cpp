#include "models/memory_footprint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/activations.hpp"
#include "sim/base/error.hpp"

namespace tessera {
namespace {

MemoryFootprint footprint(const ModelConfig& config, const BuildOptions& options, const ParallelSpec& spec = {}) {
  return memory_footprint(config, options, build_graph(config, options), spec);
}

double component(const MemoryFootprint& footprint, std::string_view name) {
  for (const MemoryComponent& c : footprint.components) {
    if (c.name == name) return c.size.value();
  }
  ADD_FAILURE() << name;
  return 0;
}

BuildOptions training(Dtype dtype, AttentionKind attention, std::int64_t batch, std::int64_t sequence) {
  return {.mode = Mode::training,
          .batch = batch,
          .sequence = sequence,
          .dtype = dtype,
          .attention = attention,
          .optimizer = OptimizerKind::adam};
}

/// Activations of one layer: what a deeper model has more.
double layer_activations(std::string_view model, const BuildOptions& options, int tp) {
  ModelConfig config = find_model(model);
  config.layers = 2;
  const double two = component(footprint(config, options, {.tp = tp}), "activations");
  config.layers = 3;
  return component(footprint(config, options, {.tp = tp}), "activations") - two;
}

TEST(MemoryFootprint, MixedPrecisionAdamTakesSixteenBytesAParameter) {
  const ModelConfig config = find_model("llama-2-7b");
  const MemoryFootprint f = footprint(config, training(Dtype::bf16, AttentionKind::flash, 1, 512));
  const double parameters = 6738415616.0;
  EXPECT_EQ(component(f, "weights"), 2 * parameters);
  EXPECT_EQ(component(f, "gradients"), 2 * parameters);
  EXPECT_EQ(component(f, "optimizer"), (4 + 4 + 4) * parameters);
}

TEST(MemoryFootprint, SinglePrecisionAdamTakesSixteenBytesAParameter) {
  const MemoryFootprint f = footprint(find_model("gpt2"), training(Dtype::fp32, AttentionKind::eager, 1, 64));
  const double parameters = 124439808.0;
  EXPECT_EQ(component(f, "weights"), 4 * parameters);
  EXPECT_EQ(component(f, "gradients"), 4 * parameters);
  EXPECT_EQ(component(f, "optimizer"), (4 + 4) * parameters);
}

// Korthikanti et al., arXiv 2205.05198, equation 1: s b h (34 + 5 a s / h); equation 2, with tensor parallelism t:
// s b h (10 + 24 / t + 5 a s / (h t)).
TEST(MemoryFootprint, GptLayerKeepsWhatKorthikantiCounts) {
  const ModelConfig c = find_model("gpt3-6.7b");
  const double s = 1024, b = 2, h = static_cast<double>(c.hidden), a = static_cast<double>(c.heads);
  const BuildOptions options = training(Dtype::fp16, AttentionKind::eager, 2, 1024);
  EXPECT_DOUBLE_EQ(layer_activations("gpt3-6.7b", options, 1), s * b * h * (34 + 5 * a * s / h));
  for (const double t : {2.0, 8.0}) {
    EXPECT_DOUBLE_EQ(layer_activations("gpt3-6.7b", options, static_cast<int>(t)),
                     s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
  }
}

TEST(MemoryFootprint, FlashAttentionKeepsNoScores) {
  const ModelConfig c = find_model("gpt3-6.7b");
  const double s = 1024, b = 2, h = static_cast<double>(c.hidden);
  EXPECT_DOUBLE_EQ(layer_activations("gpt3-6.7b", training(Dtype::fp16, AttentionKind::flash, 2, 1024), 1),
                   s * b * h * 34);
}

TEST(MemoryFootprint, LlamaKeepsThreeInnerTensorsAndNoMasks) {
  // 2 B: inputs of two norms and of qkv and ffn 4h, q and attention output 2h, k and v of 8 heads, gate, up and product
  const double expected = 2.0 * 512 * (4 * 8192 + 2 * 8192 + 2 * 1024 + 3 * 28672);
  EXPECT_DOUBLE_EQ(layer_activations("llama-2-70b", training(Dtype::bf16, AttentionKind::flash, 1, 512), 1), expected);
}

TEST(MemoryFootprint, LogitsCountTheirGradientAndTheLoss) {
  const ModelConfig c = find_model("llama-2-7b");
  const MemoryFootprint f = footprint(c, training(Dtype::bf16, AttentionKind::flash, 1, 512), {.tp = 2});
  EXPECT_EQ(component(f, "buffers"), 512.0 * 32000 / 2 * (2 + 2 + 4));
}

TEST(MemoryFootprint, InferenceHoldsWeightsAndCache) {
  const ModelConfig c = find_model("llama-3.1-8b");
  const BuildOptions options{.batch = 8, .sequence = 2048, .dtype = Dtype::bf16, .attention = AttentionKind::flash};
  const MemoryFootprint f = footprint(c, options);
  EXPECT_EQ(component(f, "weights"), 2 * 8030261248.0);
  EXPECT_EQ(component(f, "kv cache"), 8.0 * 2048 * 32 * 2 * 8 * 128 * 2);  // layers, k and v, heads, width, bytes
  EXPECT_EQ(component(f, "buffers"), 8.0 * 128256 * 2);                    // logits of the last tokens
}

TEST(MemoryFootprint, TensorParallelismSharesWeightsAndTotalAddsUp) {
  const ModelConfig c = find_model("llama-2-7b");
  const BuildOptions options = training(Dtype::bf16, AttentionKind::flash, 1, 512);
  const MemoryFootprint one = footprint(c, options), two = footprint(c, options, {.tp = 2});
  const double norms = 65.0 * 4096;
  EXPECT_EQ(component(two, "weights"), 2 * (norms + (6738415616.0 - norms) / 2));
  EXPECT_GT(component(two, "context"), component(one, "context"));  // a communicator
  double sum = 0;
  for (const MemoryComponent& part : two.components) {
    sum += part.size.value();
    EXPECT_FALSE(part.formula.empty()) << part.name;
  }
  EXPECT_EQ(two.total().value(), sum);
}

TEST(MemoryFootprint, FormulasAreInWords) {
  const MemoryFootprint f =
      footprint(find_model("llama-2-7b"), training(Dtype::bf16, AttentionKind::flash, 1, 512), {.dp = 4});
  EXPECT_EQ(f.components[0].formula, "6.738 G parameters x 2 B");
  EXPECT_EQ(f.components[2].formula, "Adam: 6.738 G parameters x 12 B (fp32 master weights, two fp32 moments)");
}

TEST(MemoryFootprint, RefusesWhatDoesNotDivide) {
  EXPECT_THROW(footprint(find_model("gpt2"), training(Dtype::bf16, AttentionKind::flash, 1, 64), {.tp = 5}), RunError);
}

// Korthikanti et al., arXiv 2205.05198: equation 4, s b h / t (34 + 5 a s / h) with sequence parallelism; selective
// recomputation leaves 34 s b h / t (equation 6), full 2 s b h, of the layer's input alone.
TEST(MemoryFootprint, SequenceParallelismAndRecomputationAreKorthikantis) {
  const BuildOptions options = training(Dtype::fp16, AttentionKind::eager, 2, 1024);
  const double sbh = 1024.0 * 2 * 4096, scores = 5.0 * 32 * 1024 / 4096;
  ModelConfig config = find_model("gpt3-6.7b");
  config.dropout = config.attention_dropout = 0.1;
  const auto layer = [&](const ParallelSpec& spec) {
    config.layers = 2;
    const double two = component(footprint(config, options, spec), "activations");
    config.layers = 3;
    return component(footprint(config, options, spec), "activations") - two;
  };
  EXPECT_DOUBLE_EQ(layer({.tp = 4, .sequence_parallel = true}), sbh * (34 + scores) / 4);
  EXPECT_DOUBLE_EQ(layer({.tp = 4, .recompute = Recompute::selective, .sequence_parallel = true}), sbh * 34 / 4);
  EXPECT_DOUBLE_EQ(layer({.recompute = Recompute::full}), sbh * 2);
}

// ZeRO's table (arXiv 1910.02054, figure 1): of 2 + 2 + 12 B a parameter, 12, then 2, then 2 more are divided.
TEST(MemoryFootprint, ShardingDividesStateGradientsAndParametersInTurn) {
  const ModelConfig config = find_model("llama-2-7b");
  const double parameters = 6738415616.0;
  const auto state = [&](Sharding sharding) {
    const MemoryFootprint f =
        footprint(config, training(Dtype::bf16, AttentionKind::flash, 1, 512), {.dp = 64, .sharding = sharding});
    return component(f, "weights") + component(f, "gradients") + component(f, "optimizer");
  };
  EXPECT_DOUBLE_EQ(state(Sharding::none), 16 * parameters);
  EXPECT_DOUBLE_EQ(state(Sharding::zero1), (4 + 12.0 / 64) * parameters);
  EXPECT_DOUBLE_EQ(state(Sharding::zero2), (2 + 14.0 / 64) * parameters);
  EXPECT_DOUBLE_EQ(state(Sharding::zero3), 16.0 / 64 * parameters);
}

// The first device holds p micro-batches under 1F1B, all of them under GPipe, and (interleaved) p v + p - 1 chunks of
// 1 / v: a factor of 1 + (p - 1) / (p v) (Korthikanti et al., section 4.2.3).
TEST(MemoryFootprint, LiveMicroBatchesAreThoseOfTheSchedule) {
  const auto passes = [](const ParallelSpec& spec, int device) {
    return live_activations(spec, device, std::vector<Bytes>(static_cast<std::size_t>(spec.chunks), Bytes(1))).passes;
  };
  for (int device = 0; device < 4; ++device) {
    EXPECT_EQ(passes({.pp = 4, .micro_batches = 16}, device), 4 - device);
    EXPECT_EQ(passes({.pp = 4, .micro_batches = 16, .schedule = PipelineSchedule::gpipe}, device), 16);
    EXPECT_EQ(passes({.pp = 4, .micro_batches = 16, .schedule = PipelineSchedule::zero_bubble}, device), 4);
  }
  EXPECT_EQ(passes({.pp = 4, .micro_batches = 16, .chunks = 3}, 0), 4 * 3 + 4 - 1);
}

}  // namespace
}  // namespace tessera
