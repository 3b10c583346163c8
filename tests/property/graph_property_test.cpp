// Properties of graphs and plans that hold for any model shape.
#include <gtest/gtest.h>

#include "sim/base/rng.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {
namespace {

constexpr int kTrials = 60;

std::int64_t pick(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint32_t>(high - low + 1)));
}

/// A small model of any architecture whose heads and widths eight ranks can share.
ModelConfig random_model(Rng& rng) {
  constexpr std::string_view kModels[] = {"bert_large", "gpt2",         "opt_13",    "llama-2-70b",
                                          "qwen3-8b",   "mixtral-8x7b", "switchxl4", "qwen2.5-7b"};
  ModelConfig c = find_model(kModels[rng.below(8)]);
  c.layers = pick(rng, 1, 4);
  if (c.decoder_layers > 0) c.decoder_layers = c.layers = 2 * pick(rng, 1, 2);
  c.heads = 8 * pick(rng, 1, 3);
  c.kv_heads = c.gated_ffn && rng.below(2) == 0 ? 8 : c.heads;
  c.head_dim = 16 * pick(rng, 1, 4);
  c.hidden = c.heads * c.head_dim;
  c.ffn = c.expert_ffn = 64 * pick(rng, 1, 30);
  c.vocab = 1024 * pick(rng, 1, 8);  // 128 x 8: no padding
  return c;
}

BuildOptions random_options(Rng& rng, Mode mode) {
  return {.mode = mode,
          .batch = pick(rng, 1, 3),
          .sequence = 16 * pick(rng, 1, 8),
          .dtype = rng.below(2) == 0 ? Dtype::bf16 : Dtype::fp32,
          .attention = rng.below(2) == 0 ? AttentionKind::eager : AttentionKind::flash,
          .optimizer = OptimizerKind::adam,
          .accumulate = rng.below(2) == 0,
          .fused = rng.below(2) == 0};
}

double matrix_flops(const Plan& plan, bool split_only, const Plan& reference) {
  double sum = 0;
  std::size_t at = 0;
  for (const Task& task : plan.tasks) {
    const auto* id = std::get_if<KernelId>(&task.work);
    if (id == nullptr) continue;
    const Kernel& kernel = plan.kernels[static_cast<std::size_t>(*id)];
    while (!std::holds_alternative<KernelId>(reference.tasks[at].work)) ++at;
    const Kernel& whole = reference.kernels[static_cast<std::size_t>(std::get<KernelId>(reference.tasks[at++].work))];
    if (std::holds_alternative<VectorShape>(kernel.shape) || std::holds_alternative<MemoryShape>(kernel.shape))
      continue;
    if ((kernel == whole) != split_only) sum += flops(kernel).value();
  }
  return sum;
}

TEST(GraphProperty, TensorParallelismConservesTheFlopsThatItSplits) {
  Rng rng(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    const ModelConfig config = random_model(rng);
    const Graph graph = build_graph(config, random_options(rng, Mode::training));
    const Plan one = make_plan(graph, {});
    for (const int tp : {2, 4, 8}) {
      const Plan plan = make_plan(graph, {.tp = tp});
      double whole = 0;
      for (const Task& task : one.tasks) {
        const Kernel& kernel = one.kernels[static_cast<std::size_t>(std::get<KernelId>(task.work))];
        if (!std::holds_alternative<VectorShape>(kernel.shape)) whole += flops(kernel).value();
      }
      const double split = matrix_flops(plan, true, one), copied = matrix_flops(plan, false, one);
      EXPECT_NEAR(split * tp + copied, whole, 1e-9 * whole) << config.architecture;
      EXPECT_GT(split * tp, 0.5 * whole) << config.architecture;
    }
  }
}

TEST(GraphProperty, GradientBytesReducedAreTheLocalParameters) {
  Rng rng(2);
  for (int trial = 0; trial < kTrials; ++trial) {
    const ModelConfig config = random_model(rng);
    const BuildOptions options = random_options(rng, Mode::training);
    const Graph graph = build_graph(config, options);
    double local = 0;
    for (const Parameter& p : graph.parameters)
      local += static_cast<double>(p.elements) / (p.split == Split::none ? 1 : 4);
    const Plan plan = make_plan(graph, {.tp = 4, .dp = 2, .micro_batches = pick(rng, 1, 3)});
    double reduced = 0;
    for (const Task& task : plan.tasks) {
      const auto* c = std::get_if<Collective>(&task.work);
      if (c != nullptr && c->over == Dimension::dp) reduced += c->bytes.value();
    }
    EXPECT_NEAR(reduced, local * element_size(options.dtype).value(), 1e-9 * reduced) << config.architecture;
  }
}

TEST(GraphProperty, PlansWaitForEarlierTasksOfTheOtherStreamOnly) {
  Rng rng(3);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Graph graph = build_graph(random_model(rng), random_options(rng, Mode::training));
    const Plan plan = make_plan(graph, {.tp = 2, .dp = 2, .micro_batches = pick(rng, 1, 3)});
    for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
      for (const TaskId after : plan.tasks[i].after) {
        ASSERT_LT(static_cast<std::size_t>(after), i);
        EXPECT_NE(plan.tasks[static_cast<std::size_t>(after)].stream, plan.tasks[i].stream);
      }
    }
  }
}

TEST(GraphProperty, WorkGrowsInStepWithBatchAndDepth) {
  Rng rng(4);
  for (int trial = 0; trial < kTrials; ++trial) {
    ModelConfig config = random_model(rng);
    BuildOptions options = random_options(rng, Mode::training);
    options.optimizer = OptimizerKind::none;
    const auto matrix_work = [&] {
      double sum = 0;
      for (const Operator& op : build_graph(config, options).operators) {
        const bool vector = std::holds_alternative<VectorShape>(op.kernel.shape);
        if (!vector) sum += flops(op.kernel).value();
      }
      return sum;
    };
    // Looped experts take a whole number of tokens each.
    if (config.experts > 0) options.batch = config.experts;
    const double once = matrix_work();
    options.batch *= 2;
    EXPECT_NEAR(matrix_work(), 2 * once, 1e-12 * once) << config.architecture;
  }
}

}  // namespace
}  // namespace tessera
