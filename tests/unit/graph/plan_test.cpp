#include "sim/graph/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/base/error.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Graph training(std::string_view model, AttentionKind attention = AttentionKind::flash) {
  return build_graph(find_model(model), {.mode = Mode::training,
                                         .batch = 1,
                                         .sequence = 256,
                                         .dtype = Dtype::bf16,
                                         .attention = attention,
                                         .optimizer = OptimizerKind::adam});
}

const Collective* collective(const Task& task) {
  return std::get_if<Collective>(&task.work);
}

std::string refusal(std::string_view model, const ParallelSpec& spec) {
  try {
    make_plan(training(model), spec);
  } catch (const RunError& error) {
    return error.what();
  }
  return "none";
}

TEST(Plan, OneRankIsTheGraph) {
  const Graph graph = training("gpt2");
  const Plan plan = make_plan(graph, {});
  ASSERT_EQ(plan.tasks.size(), graph.operators.size());
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const auto kernel = std::get<KernelId>(plan.tasks[i].work);
    EXPECT_EQ(plan.kernels[static_cast<std::size_t>(kernel)], graph.operators[i].kernel);
    EXPECT_TRUE(plan.tasks[i].after.empty());
  }
}

TEST(Plan, KernelsAreDistinct) {
  const Plan plan = make_plan(training("llama-2-7b"), {.tp = 2, .dp = 2, .micro_batches = 3});
  const std::set<std::string> described = [&] {
    std::set<std::string> names;
    for (const Kernel& kernel : plan.kernels) names.insert(describe_kernel(kernel));
    return names;
  }();
  EXPECT_EQ(described.size(), plan.kernels.size());
  EXPECT_LT(plan.kernels.size(), 60u);
}

TEST(Plan, MicroBatchesRepeatAllButTheOptimizer) {
  const Graph graph = training("gpt2");
  const auto steps = static_cast<std::size_t>(std::count_if(
      graph.operators.begin(), graph.operators.end(), [](const Operator& op) { return op.phase == Phase::optimizer; }));
  const Plan plan = make_plan(graph, {.micro_batches = 5});
  EXPECT_EQ(plan.tasks.size(), 5 * (graph.operators.size() - steps) + steps);
}

TEST(Plan, BucketsAddUpToTheGradients) {
  for (const int tp : {1, 2, 4}) {
    const Graph graph = training("llama-2-7b");
    const Plan plan = make_plan(graph, {.tp = tp, .dp = 8, .micro_batches = 2});
    double reduced = 0;
    for (const Task& task : plan.tasks) {
      const Collective* c = collective(task);
      if (c == nullptr || c->over != Dimension::dp) continue;
      EXPECT_EQ(task.micro_batch, 1);
      EXPECT_EQ(task.stream, StreamKind::communication);
      reduced += c->bytes.value();
    }
    // All but the norms (65 vectors of 4,096) are split; 32,000 words are a multiple of 128 tp only for tp <= 2.
    const double norms = 65 * 4096, embeddings = 2.0 * 32000 * 4096;
    const double padded = 2.0 * 4096 * (tp == 4 ? 32256 : 32000);
    const double others = static_cast<double>(parameter_count(graph)) - norms - embeddings;
    EXPECT_EQ(reduced, 2 * (norms + (others + padded) / tp)) << tp;
  }
}

TEST(Plan, BucketsCloseWhenFull) {
  const Bytes limit(4.0 * 1048576);
  const Plan plan = make_plan(training("gpt2"), {.dp = 2, .bucket = limit});
  std::vector<Bytes> buckets;
  for (const Task& task : plan.tasks) {
    if (collective(task) != nullptr) buckets.push_back(collective(task)->bytes);
  }
  ASSERT_GT(buckets.size(), 10u);
  EXPECT_GE(buckets.front(), Bytes(1048576.0));
  for (std::size_t i = 1; i + 1 < buckets.size(); ++i) EXPECT_GE(buckets[i], limit);
  // No bucket takes more than the limit and the tensor that fills it: here the largest but the embedding is 3072 x 768.
  for (std::size_t i = 1; i + 1 < buckets.size(); ++i) EXPECT_LE(buckets[i], limit + Bytes(2.0 * 3072 * 768));
}

TEST(Plan, ReductionsOverlapBackwardAndTheOptimizerWaits) {
  const Plan plan = make_plan(training("gpt2"), {.dp = 2});
  std::size_t first_reduction = plan.tasks.size(), last_reduction = 0, last_backward = 0, optimizer = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = plan.tasks[i];
    if (collective(task) != nullptr) {
      first_reduction = std::min(first_reduction, i);
      last_reduction = i;
      ASSERT_EQ(task.after.size(), 1u);
      EXPECT_LT(static_cast<std::size_t>(task.after[0]), i);
    } else if (task.phase == Phase::backward) {
      last_backward = i;
    } else if (task.phase == Phase::optimizer && optimizer == 0) {
      optimizer = i;
    }
  }
  EXPECT_LT(first_reduction, last_backward);
  EXPECT_EQ(plan.tasks[optimizer].after, std::vector<TaskId>{static_cast<TaskId>(last_reduction)});
}

TEST(Plan, TensorParallelSumsHideBehindWeightGradients) {
  const Graph graph = training("llama-2-7b");
  const Plan plan = make_plan(graph, {.tp = 2});
  std::size_t sums = 0, hidden = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    if (collective(plan.tasks[i]) == nullptr) continue;
    ++sums;
    // The kernel that waits for the sum, and the kernels between.
    std::size_t next = i + 1;
    while (next < plan.tasks.size() && plan.tasks[next].after != std::vector<TaskId>{static_cast<TaskId>(i)}) ++next;
    if (next == plan.tasks.size()) continue;  // nobody needs the last one
    if (plan.tasks[i].phase == Phase::forward) {
      EXPECT_EQ(next, i + 1);
    } else {
      hidden += next > i + 1 ? 1 : 0;
    }
  }
  EXPECT_EQ(sums, 32u * 4 + 3);  // two each way a layer; embedding, loss and the head's input gradient
  EXPECT_EQ(hidden, 32u * 2 + 1);
}

TEST(Plan, KeyValueHeadsAreCopiedBeyondTheirNumber) {
  const Plan plan = make_plan(training("llama-3.1-8b"), {.tp = 16});  // 8 kv heads
  const auto qkv = std::find_if(plan.kernels.begin(), plan.kernels.end(),
                                [](const Kernel& k) { return k.op == Op::attention_prefill; });
  ASSERT_NE(qkv, plan.kernels.end());
  EXPECT_EQ(std::get<AttentionShape>(qkv->shape).heads, 2);
  EXPECT_EQ(std::get<AttentionShape>(qkv->shape).kv_heads, 1);
  const auto projection = std::find_if(plan.kernels.begin(), plan.kernels.end(), [](const Kernel& k) {
    const auto* gemm = std::get_if<GemmShape>(&k.shape);
    return k.op == Op::linear && gemm->n == (2 + 2 * 1) * 128;
  });
  EXPECT_NE(projection, plan.kernels.end());
}

TEST(Plan, VocabularyIsPaddedForTensorParallelism) {
  const auto head = [](int tp) {
    const Plan plan = make_plan(training("gpt2"), {.tp = tp});
    std::int64_t widest = 0;
    for (const Kernel& kernel : plan.kernels) {
      if (kernel.op == Op::linear) widest = std::max(widest, std::get<GemmShape>(kernel.shape).n);
    }
    return widest;
  };
  EXPECT_EQ(head(1), 50257);
  EXPECT_EQ(head(2), 50432 / 2);  // 197 x 256
  EXPECT_EQ(head(4), 50688 / 4);  // 99 x 512
}

TEST(Plan, GroupsPartitionTheRanks) {
  Plan plan;
  plan.spec = {.tp = 2, .dp = 3};
  EXPECT_EQ(plan.group(Rank{3}, Dimension::tp), (std::vector<Rank>{Rank{2}, Rank{3}}));
  EXPECT_EQ(plan.group(Rank{3}, Dimension::dp), (std::vector<Rank>{Rank{1}, Rank{3}, Rank{5}}));
}

TEST(PlanMistakes, CountsThatCannotBeHonoured) {
  EXPECT_THAT(refusal("llama-2-7b", {.tp = 3}), HasSubstr("tp 3 does not divide the 32 attention heads of llama-2-7b"));
  EXPECT_THAT(refusal("qwen2.5-7b", {.tp = 14}),
              HasSubstr("tp 14 neither divides nor is a multiple of the 4 key-value"));
  EXPECT_THAT(refusal("llama-2-7b", {.tp = 0}), HasSubstr("tp is 0, expected 1 or more"));
  EXPECT_THAT(refusal("llama-2-7b", {.dp = 0}), HasSubstr("dp is 0, expected 1 or more"));
  EXPECT_THAT(refusal("llama-2-7b", {.micro_batches = 0}), HasSubstr("micro_batches is 0, expected 1 or more"));
  EXPECT_THAT(refusal("llama-2-7b", {.bucket = Bytes(0)}), HasSubstr("the bucket has 0 B"));
  EXPECT_THAT(refusal("llama-2-7b", {.micro_batches = 1'000'000}), HasSubstr("1000000 micro-batches of"));
  ModelConfig odd = find_model("llama-2-7b");
  odd.ffn = 11007;
  try {
    make_plan(build_graph(odd, {.batch = 1, .sequence = 8}), {.tp = 2});
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tp 2 does not divide n 11007 of 'feed-forward gate'"));
  }
}

}  // namespace
}  // namespace tessera
