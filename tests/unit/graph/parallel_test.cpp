// Sharded, sequence, context, expert and interleaved parallelism in the plan: counts and bytes worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "sim/base/error.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kBatch = 2, kSequence = 256;

Graph training(std::string_view model, int context = 1) {
  return build_graph(find_model(model), {.mode = Mode::training,
                                         .batch = kBatch,
                                         .sequence = kSequence,
                                         .dtype = Dtype::bf16,
                                         .attention = AttentionKind::flash,
                                         .optimizer = OptimizerKind::adam,
                                         .context = context});
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const RunError& error) {
    return error.what();
  } catch (const InputError& error) {
    return error.diagnostics().front().message;
  }
  return "none";
}

struct Sent {
  int calls = 0;
  double bytes = 0;
};

Sent sent(
    const Plan& plan, CollectiveKind kind, Dimension over,
    const std::function<bool(const Task&)>& counts = [](const Task&) { return true; }) {
  Sent sum;
  for (const Task& task : plan.tasks) {
    const auto* c = std::get_if<Collective>(&task.work);
    if (c == nullptr || c->kind != kind || c->over != over || !counts(task)) continue;
    ++sum.calls;
    sum.bytes += c->bytes.value();
  }
  return sum;
}

double attention_flops(const Plan& plan) {
  double sum = 0;
  for (const Task& task : plan.tasks)
    if (const auto* id = std::get_if<KernelId>(&task.work)) {
      const Kernel& kernel = plan.kernels[static_cast<std::size_t>(*id)];
      if (std::holds_alternative<AttentionShape>(kernel.shape)) sum += flops(kernel).value();
    }
  return sum;
}

double parameter_bytes(const Graph& graph) {
  return 2.0 * static_cast<double>(parameter_count(graph));
}

TEST(Groups, EveryDimensionDividesTheWorld) {
  Plan plan;
  plan.spec = {.tp = 2, .dp = 4, .pp = 2, .cp = 3, .ep = 2};
  const std::map<Dimension, std::size_t> sizes{
      {Dimension::tp, 2}, {Dimension::cp, 3}, {Dimension::dp, 12}, {Dimension::ep, 2}, {Dimension::edp, 2}};
  for (const auto& [over, size] : sizes) {
    std::map<std::uint32_t, std::set<std::uint32_t>> group_of;
    for (int r = 0; r < plan.spec.world_size(); ++r) {
      for (const Rank member : plan.group(static_cast<Rank>(r), over))
        group_of[static_cast<std::uint32_t>(r)].insert(static_cast<std::uint32_t>(member));
    }
    for (const auto& [rank, group] : group_of) {
      EXPECT_EQ(group.size(), size) << to_string(over);
      EXPECT_TRUE(group.contains(rank));
      for (const std::uint32_t other : group) EXPECT_EQ(group_of[other], group);
    }
  }
}

TEST(Groups, TheLastStageMeetsTheFirstOnlyWhereThePlanWraps) {
  Plan plan;
  plan.spec = {.dp = 2, .pp = 3};
  EXPECT_TRUE(plan.group(Rank{4}, Dimension::next).empty());
  plan.wraps = true;
  EXPECT_THAT(plan.group(Rank{4}, Dimension::next), testing::ElementsAre(Rank{4}, Rank{0}));
  EXPECT_THAT(plan.group(Rank{1}, Dimension::previous), testing::ElementsAre(Rank{1}, Rank{5}));
}

// A layer has two sums each way; scattered, each is a reduce-scatter and a gather, and backward gathers the inputs of
// the two column-split products once more (Korthikanti et al., arXiv 2205.05198, section 4.2.2).
TEST(SequenceParallel, ScattersEverySumAndGathersItAgain) {
  const Graph graph = training("llama-2-7b");
  const auto in_layer = [](const Task& task) { return task.layer == 7; };
  const Plan plan = make_plan(graph, {.tp = 4, .sequence_parallel = true});
  const double hidden = graph.hidden_states.value();
  EXPECT_EQ(sent(plan, CollectiveKind::all_reduce, Dimension::tp, in_layer).calls, 0);
  const Sent scattered = sent(plan, CollectiveKind::reduce_scatter, Dimension::tp, in_layer);
  EXPECT_EQ(scattered.calls, 4);
  EXPECT_EQ(scattered.bytes, 4 * hidden);
  EXPECT_EQ(sent(plan, CollectiveKind::all_gather, Dimension::tp, in_layer).bytes, (2 + 2 + 2) * hidden);
  EXPECT_EQ(sent(make_plan(graph, {.tp = 4}), CollectiveKind::all_reduce, Dimension::tp, in_layer).bytes, 4 * hidden);
}

/// Of the sums over tp in backward: whether anything runs on the compute stream between what they wait for and what
/// waits for them.
int hidden_sums(const ParallelSpec& spec) {
  const Plan plan = make_plan(training("llama-2-7b"), spec);
  int hidden = 0;
  for (std::size_t sum = 0; sum < plan.tasks.size(); ++sum) {
    const Task& task = plan.tasks[sum];
    const auto* c = std::get_if<Collective>(&task.work);
    if (c == nullptr || c->kind != CollectiveKind::reduce_scatter || c->over != Dimension::tp) continue;
    if (task.phase != Phase::backward) continue;
    std::size_t ready = 0;
    for (const TaskId before : task.after) ready = std::max(ready, static_cast<std::size_t>(before));
    std::size_t wanted = sum + 1;
    const auto waits = [&](const Task& t) {
      return std::ranges::find(t.after, static_cast<TaskId>(sum)) != t.after.end();
    };
    while (wanted < plan.tasks.size() && !waits(plan.tasks[wanted])) ++wanted;
    for (std::size_t t = ready + 1; t < wanted; ++t)
      if (plan.tasks[t].stream == StreamKind::compute) {
        ++hidden;
        break;
      }
  }
  return hidden;
}

// Megatron-LM's sums of gradients hide behind the parameters' gradients (two a layer, and the head's); DTensor's are
// waited for. What is asynchronous is one product with its own sum: in backward no sum is of one product.
TEST(SequenceParallel, GradientsSumsAreHiddenOrWaitedFor) {
  const int sums = 2 * 32 + 1;
  EXPECT_EQ(hidden_sums({.tp = 4, .sequence_parallel = true}), sums);
  EXPECT_EQ(hidden_sums({.tp = 4, .sequence_parallel = true, .asynchronous_tp = true}), sums);
  EXPECT_EQ(hidden_sums({.tp = 4, .sequence_parallel = true, .tp_waits = true}), 0);
  EXPECT_EQ(hidden_sums({.tp = 4, .sequence_parallel = true, .asynchronous_tp = true, .tp_waits = true}), 0);
}

TEST(SequenceParallel, WhoeverWaitsSendsAsMuchButKeepsItsInputs) {
  const Graph graph = training("llama-2-7b");
  const auto in_layer = [](const Task& task) { return task.layer == 7; };
  const Plan plan = make_plan(graph, {.tp = 4, .sequence_parallel = true, .tp_waits = true});
  const double hidden = graph.hidden_states.value();
  EXPECT_EQ(sent(plan, CollectiveKind::reduce_scatter, Dimension::tp, in_layer).bytes, 4 * hidden);
  EXPECT_EQ(sent(plan, CollectiveKind::all_gather, Dimension::tp, in_layer).bytes, (2 + 2) * hidden);
}

TEST(SequenceParallel, DividesTheNorms) {
  const auto norm_rows = [](const ParallelSpec& spec) {
    std::set<std::int64_t> rows;
    for (const Kernel& kernel : make_plan(training("llama-2-7b"), spec).kernels)
      if (kernel.op == Op::rmsnorm) rows.insert(std::get<VectorShape>(kernel.shape).rows);
    return rows;
  };
  EXPECT_THAT(norm_rows({.tp = 4}), testing::ElementsAre(kBatch * kSequence));
  EXPECT_THAT(norm_rows({.tp = 4, .sequence_parallel = true}), testing::ElementsAre(kBatch * kSequence / 4));
}

TEST(Recomputation, RunsTheForwardOfLayersAgain) {
  const Graph graph = training("gpt2");
  const auto forward = [&](const std::function<bool(const Operator&)>& which) {
    return static_cast<std::size_t>(std::count_if(graph.operators.begin(), graph.operators.end(), [&](const auto& op) {
      return op.phase == Phase::forward && op.layer >= 0 && which(op);
    }));
  };
  const std::size_t plain = make_plan(graph, {}).tasks.size();
  const auto more = [&](Recompute recompute) {
    return make_plan(graph, {.recompute = recompute}).tasks.size() - plain;
  };
  EXPECT_EQ(more(Recompute::full), forward([](const Operator&) { return true; }));
  EXPECT_EQ(more(Recompute::selective), forward([](const Operator& op) { return op.core_attention; }));
  EXPECT_EQ(forward([](const Operator& op) { return op.core_attention; }), 12u);  // flash: one kernel a layer
  const std::size_t products =
      forward([](const Operator& op) { return std::holds_alternative<GemmShape>(op.kernel.shape); });
  EXPECT_EQ(more(Recompute::operators),
            forward([](const Operator&) { return true; }) - 12 - products / 2);  // attention, every second product
}

TEST(Sharding, DividesTheOptimizerAndReducesByScattering) {
  const Graph graph = training("gpt2");
  for (const Sharding sharding : {Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
    const Plan plan = make_plan(graph, {.dp = 8, .sharding = sharding});
    EXPECT_EQ(sent(plan, CollectiveKind::reduce_scatter, Dimension::dp).bytes, parameter_bytes(graph));
    EXPECT_EQ(sent(plan, CollectiveKind::all_reduce, Dimension::dp).calls, 0);
    double stepped = 0;
    for (const Task& task : plan.tasks)
      if (task.phase == Phase::optimizer)
        stepped += static_cast<double>(
            std::get<VectorShape>(plan.kernels[static_cast<std::size_t>(std::get<KernelId>(task.work))].shape).h);
    EXPECT_NEAR(8 * stepped / static_cast<double>(parameter_count(graph)), 1, 1e-4);
  }
}

// FSDP gathers every layer for forward and again for backward, what lies outside once, in every micro-batch; with the
// optimizer's state alone divided, parameters are gathered once a step.
TEST(Sharding, GathersParametersWhereTheyAreUsed) {
  const Graph graph = training("gpt2");
  double outside = 0, layers = 0;
  for (const Parameter& p : graph.parameters) (p.layer < 0 ? outside : layers) += 2.0 * static_cast<double>(p.elements);
  const auto gathered = [&](Sharding sharding) {
    return sent(make_plan(graph, {.dp = 4, .micro_batches = 3, .sharding = sharding}), CollectiveKind::all_gather,
                Dimension::dp)
        .bytes;
  };
  EXPECT_EQ(gathered(Sharding::zero3), 3 * (2 * layers + outside));
  EXPECT_EQ(gathered(Sharding::zero1), layers + outside);
  const Plan late = make_plan(graph, {.dp = 4, .sharding = Sharding::zero1, .overlap = false});
  const Sent after = sent(late, CollectiveKind::all_gather, Dimension::dp);
  EXPECT_EQ(after.calls, 1);
  EXPECT_EQ(after.bytes, layers + outside);
  EXPECT_TRUE(std::holds_alternative<Collective>(late.tasks.back().work));
}

TEST(Sharding, ReducesInAWiderTypeWhereAsked) {
  const Graph graph = training("gpt2");
  const Plan plan = make_plan(graph, {.dp = 4, .reduced_as = Dtype::fp32});
  EXPECT_EQ(sent(plan, CollectiveKind::all_reduce, Dimension::dp).bytes, 2 * parameter_bytes(graph));
}

// Ring attention: n - 1 exchanges of a rank's keys and values forward, and of those with their gradients backward. The
// parts of the causal half that n ranks compute add up to the whole.
TEST(ContextParallel, PassesKeysAndValuesRoundTheRing) {
  constexpr int kRanks = 4;
  const Plan plan = make_plan(training("llama-2-7b", kRanks), {.cp = kRanks});
  const Sent passed = sent(plan, CollectiveKind::send_recv, Dimension::cp, [](const Task& t) { return t.layer == 3; });
  EXPECT_EQ(passed.calls, 2 * (kRanks - 1));
  EXPECT_EQ(passed.bytes, (kRanks - 1) * (1 + 2) * 2.0 * kBatch * (kSequence / kRanks) * 4096 * 2);
  EXPECT_DOUBLE_EQ(kRanks * attention_flops(plan), attention_flops(make_plan(training("llama-2-7b"), {})));
}

TEST(ContextParallel, RefusesWhatItCannotDivide) {
  EXPECT_THAT(refusal([] { training("llama-2-7b", 3); }),
              HasSubstr("cp 3: sequence 256 is not divided into 6 equal parts"));
  EXPECT_THAT(refusal([] {
                build_graph(find_model("gpt2"),
                            {.batch = 1, .sequence = 64, .attention = AttentionKind::eager, .context = 2});
              }),
              HasSubstr("context parallelism is modelled for flash attention"));
}

// Every token goes to its experts' ranks and back, each way once: tokens x experts per token x hidden x 2 B.
TEST(ExpertParallel, RoutesTokensAndReducesExpertsApart) {
  const Graph graph = training("mixtral-8x7b");
  const Plan plan = make_plan(graph, {.dp = 8, .ep = 4});
  const Sent routed = sent(plan, CollectiveKind::all_to_all, Dimension::ep, [](const Task& t) { return t.layer == 5; });
  EXPECT_EQ(routed.calls, 4);
  EXPECT_EQ(routed.bytes, 4.0 * kBatch * kSequence * 2 * 4096 * 2);
  double experts = 0, dense = 0;
  for (const Parameter& p : graph.parameters) (p.expert ? experts : dense) += 2.0 * static_cast<double>(p.elements);
  EXPECT_EQ(sent(plan, CollectiveKind::all_reduce, Dimension::edp).bytes, experts / 4);
  EXPECT_EQ(sent(plan, CollectiveKind::all_reduce, Dimension::dp).bytes, dense);
}

TEST(ExpertParallel, TheFullestRankSetsThePace) {
  const Graph graph = training("mixtral-8x7b");
  const auto expert_flops = [&](double load) {
    double most = 0;
    for (const Kernel& kernel : make_plan(graph, {.dp = 4, .ep = 4, .expert_load = load}).kernels)
      if (kernel.op == Op::moe) most = std::max(most, flops(kernel).value());
    return most;
  };
  EXPECT_NEAR(expert_flops(1.5) / expert_flops(1), 1.5, 1e-9);
}

TEST(ExpertParallel, RefusesWhatItCannotDivide) {
  const auto why = [](std::string_view model, const ParallelSpec& spec) {
    return refusal([&] { make_plan(training(model), spec); });
  };
  EXPECT_EQ(why("gpt2", {.dp = 4, .ep = 2}), "ep 2: gpt2 has no experts");
  EXPECT_EQ(why("mixtral-8x7b", {.dp = 3, .ep = 3}), "ep 3 does not divide the 8 experts of mixtral-8x7b");
  EXPECT_EQ(why("mixtral-8x7b", {.dp = 6, .ep = 4}), "ep 4 does not divide dp 6");
  EXPECT_EQ(why("mixtral-8x7b", {.dp = 4, .ep = 4, .expert_load = 0.5}), "expert_load is 0.5, expected 1 or more");
}

TEST(Interleaving, EveryMessageHasASenderAndAReceiver) {
  const Plan plan = make_plan(training("gpt2"), {.pp = 3, .micro_batches = 6, .chunks = 4});
  std::map<std::uint32_t, int> open;
  for (const Task& task : plan.tasks)
    if (const auto* c = std::get_if<Collective>(&task.work)) {
      ASSERT_TRUE(is_message(*c));
      open[c->message] += c->receives ? 1 : 100;
    }
  EXPECT_EQ(open.size(), 6u * 2 * (3 * 4 - 1) + 2);  // and the tied embedding's gradient, both ways
  for (const auto& [message, ends] : open) EXPECT_EQ(ends, 101) << message;
}

TEST(Interleaving, RefusesWhatItCannotDivide) {
  const auto why = [](const ParallelSpec& spec) { return refusal([&] { make_plan(training("gpt2"), spec); }); };
  EXPECT_EQ(why({.pp = 4, .micro_batches = 6, .chunks = 3}),
            "interleaved stages need micro-batches that are a multiple of pp 4, there are 6");
  EXPECT_EQ(why({.pp = 4, .micro_batches = 8, .chunks = 4}), "12 layers are fewer than the 16 stages of pp");
  EXPECT_EQ(why({.pp = 2, .micro_batches = 8, .chunks = 2, .schedule = PipelineSchedule::gpipe}),
            "2 chunks per device: only 1F1B interleaves");
}

TEST(TiedEmbedding, BothEndsOfThePipelineStepTheTable) {
  const Graph graph = training("gpt2");
  const Plan plan = make_plan(graph, {.dp = 2, .pp = 2, .micro_batches = 2});
  const double table = 50257.0 * 768 * 2;
  EXPECT_EQ(sent(plan, CollectiveKind::send_recv, Dimension::next,
                 [&](const Task& t) { return std::get<Collective>(t.work).bytes.value() == table; })
                .calls,
            2);  // sender and receiver
}

TEST(ZeroBubble, PutsParametersOffByTheDevicesNumber) {
  for (int device = 0; device < 4; ++device) {
    std::int64_t inputs = 0, parameters = 0, most = 0;
    for (const Pass& pass :
         pass_order({.pp = 4, .micro_batches = 9, .schedule = PipelineSchedule::zero_bubble}, device)) {
      if (pass.part == BackwardPart::inputs) ++inputs;
      if (pass.part == BackwardPart::parameters) ++parameters;
      most = std::max(most, inputs - parameters);
    }
    EXPECT_EQ(inputs, 9);
    EXPECT_EQ(parameters, 9);
    EXPECT_EQ(most, device + 1);
  }
}

}  // namespace
}  // namespace tessera
