#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/base/error.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kBatch = 2, kSequence = 128;

Graph build(std::string_view model, BuildOptions options) {
  options.batch = kBatch;
  options.sequence = kSequence;
  return build_graph(find_model(model), options);
}

bool multiplies(const Operator& op) {
  return std::holds_alternative<GemmShape>(op.kernel.shape) || std::holds_alternative<AttentionShape>(op.kernel.shape);
}

double matrix_flops(const Graph& graph, Phase phase, std::int32_t layer) {
  double sum = 0;
  for (const Operator& op : graph.operators) {
    if (multiplies(op) && op.phase == phase && op.layer == layer) sum += flops(op.kernel).value();
  }
  return sum;
}

double bytes_of(const Graph& graph, Phase phase) {
  double sum = 0;
  for (const Operator& op : graph.operators) {
    if (op.phase == phase) sum += traffic(op.kernel).total().value();
  }
  return sum;
}

std::int64_t count(const Graph& graph, Op op, Phase phase) {
  return std::count_if(graph.operators.begin(), graph.operators.end(),
                       [&](const Operator& o) { return o.kernel.op == op && o.phase == phase; });
}

TEST(BuildGraph, GptLayerTakes24bsh2PlusAttention) {
  // Narayanan et al., arXiv 2104.04473, appendix: forward of a layer 24 b s h^2 + 4 b s^2 h.
  const ModelConfig c = find_model("gpt2-xl");
  const Graph graph = build("gpt2-xl", {.mode = Mode::training});
  const double b = kBatch, s = kSequence, h = static_cast<double>(c.hidden);
  const double forward = 24 * b * s * h * h * (1 + s / (6 * h));
  EXPECT_DOUBLE_EQ(matrix_flops(graph, Phase::forward, 0), forward);
  EXPECT_DOUBLE_EQ(matrix_flops(graph, Phase::backward, 0), 2 * forward);
  EXPECT_DOUBLE_EQ(matrix_flops(graph, Phase::forward, -1), 2 * b * s * h * static_cast<double>(c.vocab));
}

TEST(BuildGraph, FlashCountsTheCausalHalf) {
  const ModelConfig c = find_model("llama-3.1-8b");
  const Graph graph = build("llama-3.1-8b", {.mode = Mode::training, .attention = AttentionKind::flash});
  const double t = kBatch * kSequence, h = 4096, kv = 1024, f = 14336;
  const double weights = h * (h + 2 * kv) + h * h + 3 * h * f;
  const double attention = 4.0 * kBatch * h * kSequence * (kSequence + 1) / 2;
  EXPECT_DOUBLE_EQ(matrix_flops(graph, Phase::forward, 0), 2 * t * weights + attention);
  EXPECT_DOUBLE_EQ(matrix_flops(graph, Phase::backward, 0), 4 * t * weights + 2.5 * attention);
  EXPECT_EQ(count(graph, Op::attention_prefill, Phase::forward), c.layers);
  EXPECT_EQ(count(graph, Op::rmsnorm, Phase::forward), 2 * c.layers + 1);
}

TEST(BuildGraph, BackwardGemmsTakeTwiceForward) {
  for (const std::string_view model :
       {"bert_large", "gpt2_large", "opt_13", "llama-2-7b", "mixtral-8x7b", "switchxl4"}) {
    for (const AttentionKind attention : {AttentionKind::eager, AttentionKind::flash}) {
      const Graph graph = build(model, {.mode = Mode::training, .attention = attention});
      double forward = 0, backward = 0;
      for (const Operator& op : graph.operators) {
        if (!std::holds_alternative<GemmShape>(op.kernel.shape)) continue;
        (op.phase == Phase::forward ? forward : backward) += flops(op.kernel).value();
      }
      EXPECT_NEAR(backward / forward, 2, 1e-12) << model;
    }
  }
}

TEST(BuildGraph, InferenceIsForwardWithoutDropout) {
  const Graph inference = build("gpt2", {}), training = build("gpt2", {.mode = Mode::training});
  for (const Operator& op : inference.operators) EXPECT_EQ(op.phase, Phase::forward);
  std::map<std::string, int> forward;
  for (const Operator& op : training.operators) {
    if (op.phase == Phase::forward) ++forward[training.names[op.name]];
  }
  for (const Operator& op : inference.operators) --forward[inference.names[op.name]];
  for (const auto& [name, more] : forward) {
    const bool dropout = name.find("dropout") != std::string::npos;
    EXPECT_EQ(more > 0, dropout) << name;  // 12 layers: scores and two residuals; and the embedding
  }
}

TEST(BuildGraph, NoDropoutKernelWhereTheProbabilityIsZero) {
  const Graph graph = build("opt_13", {.mode = Mode::training});
  EXPECT_EQ(std::find(graph.names.begin(), graph.names.end(), "attention dropout"), graph.names.end());
  EXPECT_NE(std::find(graph.names.begin(), graph.names.end(), "residual dropout"), graph.names.end());
}

TEST(BuildGraph, AccumulationMovesThreeTimesTheParameters) {
  for (const std::string_view model : {"gpt2", "bert_large", "llama-2-7b"}) {
    const Graph graph = build(model, {.mode = Mode::training, .dtype = Dtype::bf16});
    EXPECT_EQ(bytes_of(graph, Phase::accumulate), 3.0 * 2 * static_cast<double>(parameter_count(graph))) << model;
    EXPECT_EQ(bytes_of(build(model, {.mode = Mode::training, .accumulate = false}), Phase::accumulate), 0) << model;
  }
}

TEST(BuildGraph, AdamMovesTwentyEightBytesAParameter) {
  const Graph graph =
      build("qwen3-8b", {.mode = Mode::training, .dtype = Dtype::bf16, .optimizer = OptimizerKind::adam});
  EXPECT_EQ(bytes_of(graph, Phase::optimizer), 28.0 * static_cast<double>(parameter_count(graph)));
  EXPECT_EQ(bytes_of(build("qwen3-8b", {.mode = Mode::training}), Phase::optimizer), 0);
}

// Operands of a product with rows' scales are read at 2 B and written at 1 B an element, once for each of the two
// products that read them: inputs and weights in forward and in backward, results' gradients twice.
TEST(BuildGraph, RowsScalesAreAPassForEveryProduct) {
  const ModelConfig c = find_model("llama-2-7b");
  const auto casts = [](bool row_scales) {
    const Graph graph = build("llama-2-7b", {.mode = Mode::training,
                                             .dtype = Dtype::bf16,
                                             .attention = AttentionKind::flash,
                                             .fused = true,
                                             .products = Dtype::fp8,
                                             .row_scales = row_scales});
    double sum = 0;
    for (const Operator& op : graph.operators)
      if (graph.names[op.name] == "cast") sum += traffic(op.kernel).total().value();
    return sum;
  };
  const double tokens = kBatch * kSequence, h = static_cast<double>(c.hidden), f = static_cast<double>(c.ffn);
  const double inputs = tokens * (3 * h + f), results = tokens * (3 * h + h + 2 * f + h);
  const double weights = 3 * h * h + h * h + 3 * h * f, layers = static_cast<double>(c.layers);
  EXPECT_EQ(casts(false), layers * 2 * (inputs + results));
  EXPECT_EQ(casts(true), layers * 3 * (2 * inputs + 2 * results + 2 * weights));
}

TEST(BuildGraph, EveryGradientIsCompletedOnce) {
  for (const std::string& model : builtin_models()) {
    for (const bool accumulate : {true, false}) {
      for (const AttentionKind attention : {AttentionKind::eager, AttentionKind::flash}) {
        const Graph graph = build(model, {.mode = Mode::training, .attention = attention, .accumulate = accumulate});
        std::vector<int> completed(graph.parameters.size());
        for (const Operator& op : graph.operators) {
          if (op.gradient_of != kNoParameter) ++completed[static_cast<std::size_t>(op.gradient_of)];
        }
        EXPECT_THAT(completed, ::testing::Each(1)) << model;
      }
    }
  }
}

TEST(BuildGraph, TwoSumsOverTensorParallelRanksEachWay) {
  for (const std::string_view model : {"bert-large", "gpt2-xl", "llama-2-70b", "opt-13b", "mixtral-8x7b"}) {
    for (const AttentionKind attention : {AttentionKind::eager, AttentionKind::flash}) {
      const Graph graph = build(model, {.mode = Mode::training, .attention = attention});
      std::map<Phase, int> sums;
      const double width = 4.0 * kBatch * kSequence * static_cast<double>(find_model(model).hidden);
      for (const Operator& op : graph.operators) {
        if (op.layer != 1 || !(op.reduced_over_tp > Bytes(0))) continue;
        ++sums[op.phase];
        EXPECT_EQ(op.reduced_over_tp.value(), width) << model;
      }
      EXPECT_EQ(sums, (std::map<Phase, int>{{Phase::forward, 2}, {Phase::backward, 2}})) << model;
    }
  }
}

TEST(BuildGraph, FusionRemovesBytesAndKernelsButNoGemm) {
  for (const std::string_view model : {"bert_large", "gpt2_large", "llama-2-7b"}) {
    const Graph plain = build(model, {}), fused = build(model, {.fused = true});
    EXPECT_LT(bytes_of(fused, Phase::forward), bytes_of(plain, Phase::forward)) << model;
    EXPECT_LT(fused.operators.size(), plain.operators.size()) << model;
    EXPECT_EQ(matrix_flops(fused, Phase::forward, 0), matrix_flops(plain, Phase::forward, 0)) << model;
  }
}

TEST(BuildGraph, ProductionInferenceComputesTheLastTokensLogits) {
  const auto head_rows = [](AttentionKind attention) {
    const Graph graph = build("llama-2-7b", {.attention = attention});
    return std::get<GemmShape>(graph.operators.back().kernel.shape).m;
  };
  EXPECT_EQ(head_rows(AttentionKind::flash), kBatch);
  EXPECT_EQ(head_rows(AttentionKind::eager), kBatch * kSequence);
}

TEST(BuildGraph, BertTrainsItsPreTrainingHeads) {
  const auto names = [](Mode mode) { return build("bert_large", {.mode = mode}).names; };
  EXPECT_THAT(names(Mode::inference), ::testing::Contains("classifier"));
  EXPECT_THAT(names(Mode::inference), ::testing::Not(::testing::Contains("language model head")));
  EXPECT_THAT(names(Mode::training), ::testing::IsSupersetOf({"classifier", "language model head", "pooler"}));
}

TEST(BuildGraph, SwitchComputesFullExpertBuffers) {
  // 24 sparse layers of 4 experts, each with a buffer of 64 rows a sample
  const Graph graph = build("switchxl4", {});
  const auto buffers = std::count_if(graph.operators.begin(), graph.operators.end(), [](const Operator& op) {
    const auto* gemm = std::get_if<GemmShape>(&op.kernel.shape);
    return gemm != nullptr && gemm->m == 64 * kBatch && gemm->n == 16384;
  });
  EXPECT_EQ(buffers, 24 * 4);
}

TEST(BuildGraph, DeeperModelsAddEqualLayers) {
  ModelConfig c = find_model("llama-2-7b");
  const auto operators = [&](std::int64_t layers) {
    c.layers = layers;
    return build_graph(c, {.mode = Mode::training, .batch = 1, .sequence = 64}).operators.size();
  };
  EXPECT_EQ(operators(3) - operators(2), operators(2) - operators(1));
}

TEST(BuildGraphMistakes, CountsAndPositions) {
  const auto refusal = [](std::string_view model, std::int64_t batch, std::int64_t sequence) -> std::string {
    try {
      build_graph(find_model(model), {.batch = batch, .sequence = sequence});
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal("gpt2", 0, 8), ::testing::HasSubstr("batch is 0, expected 1 or more"));
  EXPECT_THAT(refusal("gpt2", 1, 0), ::testing::HasSubstr("sequence is 0, expected 1 or more"));
  EXPECT_THAT(refusal("llama-2-7b", 4'000'000'000'000'000'000, 8),
              ::testing::HasSubstr("more than the 16777216 tokens that a micro-batch may have"));
  EXPECT_THAT(refusal("gpt2", 1, 1025), ::testing::HasSubstr("sequence 1025 exceeds the 1024 positions of gpt2"));
  EXPECT_THAT(refusal("opt-1.3b", 1, 2049), ::testing::HasSubstr("sequence 2049 exceeds the 2048 positions"));
  EXPECT_EQ(refusal("opt-1.3b", 1, 2048), "none");
  EXPECT_EQ(refusal("llama-2-7b", 1, 4097), "none");  // rotary positions have no table
}

}  // namespace
}  // namespace tessera
