// Policies that choose a job's parallelism when it arrives.
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/place/job_plan.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Every kernel runs at 100 TFLOP/s and moves its bytes at 1 TB/s.
class FlatRate final : public LatencyModel {
 public:
  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& /*gpu*/,
                                                const PredictContext& /*context*/) const override {
    std::vector<KernelCost> costs;
    for (const Kernel& kernel : kernels) {
      const Seconds time = flops(kernel) / FlopsPerSec(1e14) + traffic(kernel).total() / BytesPerSec(1e12);
      costs.emplace_back().time = {time, time, time};
    }
    return costs;
  }
};

class ChoosingPolicies : public testing::Test {
 protected:
  ChoosingPolicies() {
    cluster_.nodes = 2;
    cluster_.node.gpus = 4;
    cluster_.node.gpu_link = BytesPerSec(300e9);
    cluster_.node.nics = 4;
    cluster_.node.nic_bandwidth = BytesPerSec(25e9);
    cluster_.gpu.name = "test";
    cluster_.gpu.memory = Bytes(80e9);
    asked_.dp = 8;
    asked_.micro_batches = 4;
    build_ = {.mode = Mode::training,
              .batch = 1,
              .sequence = 1024,
              .dtype = Dtype::bf16,
              .attention = AttentionKind::flash,
              .optimizer = OptimizerKind::adam};
  }

  JobChoiceResult choose(std::string_view policy, int free_gpus = 8) const {
    std::vector<int> gpus(static_cast<std::size_t>(free_gpus));
    std::iota(gpus.begin(), gpus.end(), 0);
    return make_placement_policy(policy)->parallelism({model_, build_, asked_, latency_, {}, 1, free_micro_batch_},
                                                      cluster_, gpus);
  }
  JobChoice choice(std::string_view policy, int free_gpus = 8) const {
    const auto result = choose(policy, free_gpus);
    if (const auto* no = std::get_if<Infeasible>(&result)) ADD_FAILURE() << policy << ": " << no->why;
    return std::holds_alternative<JobChoice>(result) ? std::get<JobChoice>(result) : JobChoice{};
  }
  ParallelSpec chosen(std::string_view policy, int free_gpus = 8) const { return choice(policy, free_gpus).parallel; }

  ModelConfig model_ = find_model("gpt2-xl");
  ClusterSpec cluster_;
  ParallelSpec asked_;
  BuildOptions build_;
  FlatRate latency_;
  bool free_micro_batch_ = false;
};

constexpr std::string_view kChoosing[] = {"cooptimised", "data-parallel", "expert", "megatron", "phaze"};

TEST_F(ChoosingPolicies, DoTheWholeStepOnFreeGpus) {
  for (const auto policy : kChoosing)
    for (const int free_gpus : {1, 3, 8}) {
      const ParallelSpec spec = chosen(policy, free_gpus);
      EXPECT_LE(spec.world_size(), free_gpus) << policy;
      EXPECT_EQ(spec.dp * spec.micro_batches, 32) << policy;
      const auto layers = std::reduce(spec.stage_layers.begin(), spec.stage_layers.end());
      EXPECT_TRUE(spec.stage_layers.empty() || layers == model_.layers) << policy;
    }
}

TEST_F(ChoosingPolicies, TheirChoicePassesThePlannerAndIsPlaced) {
  std::vector<int> gpus(8);
  std::iota(gpus.begin(), gpus.end(), 0);
  const Graph graph = build_graph(model_, build_);
  for (const auto policy : kChoosing) {
    const Plan plan = make_plan(graph, chosen(policy));
    const auto placed = make_placement_policy(policy)->place(plan, cluster_, gpus);
    ASSERT_TRUE(std::holds_alternative<Placement>(placed)) << policy;
    EXPECT_EQ(std::get<Placement>(placed).gpu_of_rank.size(), static_cast<std::size_t>(plan.spec.world_size()));
  }
}

TEST_F(ChoosingPolicies, DataParallelNeverSplitsTheModel) {
  asked_.tp = 2;
  asked_.dp = 4;
  asked_.micro_batches = 8;
  const ParallelSpec spec = chosen("data-parallel");
  EXPECT_EQ(spec.tp, 1);
  EXPECT_EQ(spec.dp, 8);
}

TEST_F(ChoosingPolicies, ExpertKeepsTheScenariosSplit) {
  asked_.tp = 2;
  asked_.pp = 2;
  asked_.dp = 2;
  asked_.micro_batches = 16;
  const ParallelSpec spec = chosen("expert", 7);
  EXPECT_EQ(spec.tp, 2);
  EXPECT_EQ(spec.pp, 2);
  EXPECT_EQ(spec.dp, 1);
  const auto none = choose("expert", 3);
  EXPECT_EQ(std::get<Infeasible>(none).why, "tp 2 x pp 2 needs 4 GPUs, 3 are free");
}

TEST_F(ChoosingPolicies, MegatronSplitsOnlyWhatDoesNotFit) {
  EXPECT_EQ(chosen("megatron").tp, 1);
  EXPECT_EQ(chosen("megatron").pp, 1);
  cluster_.gpu.memory = Bytes(25e9);  // 1.6 G parameters of 16 B and activations: over two GPUs
  const ParallelSpec spec = chosen("megatron");
  EXPECT_GT(spec.pp, 1);  // 25 heads do not divide
  EXPECT_EQ(spec.tp, 1);
}

TEST_F(ChoosingPolicies, TheSearchIsNotWorseThanMegatronsAdviceByItsOwnCosts) {
  for (const double memory : {80e9, 40e9, 25e9}) {
    cluster_.gpu.memory = Bytes(memory);
    const PipelineProblem problem = job_problem({model_, build_, asked_, latency_}, cluster_, 8, 1);
    const auto time = [&](std::string_view policy) {
      const ParallelSpec spec = chosen(policy);
      PipelinePlan plan;
      plan.replicas = spec.dp;
      int first = 0;
      for (const int layers : spec.stage_layers) {
        PipelineStage& stage = plan.stages.emplace_back();
        stage.width = spec.tp;
        stage.layers.resize(static_cast<std::size_t>(layers));
        std::iota(stage.layers.begin(), stage.layers.end(), first);
        first += layers;
      }
      return std::get<PlanFigures>(evaluate(problem, plan)).time;
    };
    EXPECT_LE(time("cooptimised"), time("megatron")) << memory;
  }
}

TEST_F(ChoosingPolicies, TheMicroBatchIsChosenToo) {
  free_micro_batch_ = true;
  build_.batch = 32;  // of one replica, in one piece: as a scenario without dp or micro-batch has it
  asked_.dp = 1;
  asked_.micro_batches = 1;
  for (const auto policy : kChoosing) {
    const JobChoice found = choice(policy);
    EXPECT_EQ(found.parallel.dp * found.parallel.micro_batches * found.micro_batch, 32) << policy;
    EXPECT_EQ(found.parallel.world_size(), 8) << policy;  // all that there are
  }
  EXPECT_EQ(choice("data-parallel").micro_batch, 4);  // all of a replica's samples: they fit
  cluster_.gpu.memory = Bytes(34e9);
  EXPECT_LT(choice("data-parallel").micro_batch, 4);
  EXPECT_EQ(choice("data-parallel").parallel.dp, 8);
}

TEST_F(ChoosingPolicies, AFreeMicroBatchIsNeverSlowerThanAGivenOne) {
  const auto time = [&](const JobChoice& found) {
    const PipelineProblem problem = job_problem({model_, build_, asked_, latency_}, cluster_, 8, found.micro_batch);
    PipelinePlan plan;
    plan.replicas = found.parallel.dp;
    int first = 0;
    for (const int layers : found.parallel.stage_layers) {
      PipelineStage& stage = plan.stages.emplace_back();
      stage.width = found.parallel.tp;
      stage.layers.resize(static_cast<std::size_t>(layers));
      std::iota(stage.layers.begin(), stage.layers.end(), first);
      first += layers;
    }
    return std::get<PlanFigures>(evaluate(problem, plan)).time;
  };
  const Seconds given = time(choice("cooptimised"));
  free_micro_batch_ = true;
  EXPECT_LE(time(choice("cooptimised")), given);
}

TEST_F(ChoosingPolicies, PrefillSplitsTheBatchAndNotTheModelThatFits) {
  build_.mode = Mode::inference;
  build_.optimizer = OptimizerKind::none;
  asked_.micro_batches = 1;  // a batch of each of 8 replicas
  const ParallelSpec spec = chosen("cooptimised");
  EXPECT_EQ(spec.tp * spec.pp, 1);
  EXPECT_EQ(spec.dp, 8);
  const PipelineProblem problem = job_problem({model_, build_, asked_, latency_}, cluster_, 8, 1);
  PipelinePlan plan;
  plan.replicas = 8;
  plan.stages.emplace_back().layers.resize(static_cast<std::size_t>(problem.layers()));
  std::iota(plan.stages.front().layers.begin(), plan.stages.front().layers.end(), 0);
  Seconds forward;
  for (const LayerCost& layer : problem.widths.front().layers) forward += layer.forward;
  const auto figures = std::get<PlanFigures>(evaluate(problem, plan));
  EXPECT_NEAR(figures.time / forward, 1, 1e-12);  // no gradients are summed
}

TEST_F(ChoosingPolicies, SayWhyNothingFits) {
  cluster_.gpu.memory = Bytes(2e9);
  for (const std::string_view policy : {"cooptimised", "megatron", "phaze"}) {
    const auto result = choose(policy);
    ASSERT_TRUE(std::holds_alternative<Infeasible>(result)) << policy;
    EXPECT_THAT(std::get<Infeasible>(result).why, HasSubstr("per device, of")) << policy;
  }
}

TEST_F(ChoosingPolicies, TheProblemIsTheJob) {
  model_ = find_model("gpt2");
  const PipelineProblem problem = job_problem({model_, build_, asked_, latency_}, cluster_, 8, 1);
  EXPECT_THAT(problem_error(problem), IsEmpty());
  EXPECT_EQ(problem.layers(), 12);
  EXPECT_EQ(problem.micro_batches, 32);
  ASSERT_EQ(problem.widths.size(), 3u);  // 1, 2, 4 of 12 heads
  ASSERT_EQ(problem.network.size(), 2u);
  EXPECT_EQ(problem.network.back().bandwidth, BytesPerSec(25e9));
  const Graph graph = build_graph(model_, build_);
  Bytes parameters;
  for (const LayerCost& layer : problem.widths.front().layers) parameters += layer.parameters;
  EXPECT_EQ(parameters, Bytes(2.0 * static_cast<double>(parameter_count(graph))));
  Seconds forward, expected;
  for (const LayerCost& layer : problem.widths.front().layers) forward += layer.forward;
  for (const Operator& op : graph.operators)
    if (op.phase == Phase::forward) expected += latency_.predict(std::span(&op.kernel, 1), {}, {}).front().time.p50;
  EXPECT_NEAR(forward / expected, 1, 1e-12);
}

}  // namespace
}  // namespace tessera
