// Operator graphs, the estimator's rules, workloads and studies of chips.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/place/chip/economics.hpp"
#include "sim/place/chip/gemm_cycles.hpp"
#include "sim/place/chip/kept_elements.hpp"
#include "sim/place/chip/space.hpp"
#include "sim/place/chip/transformer_layers.hpp"
#include "sim/place/search/chip_study.hpp"
#include "sim/place/search/pareto.hpp"

namespace tessera {
namespace {

constexpr double kGiB = 1073741824.0;

SystolicChip chip_with(int cores, int width, int depth, double MiB = 32) {
  return {.tensor_cores = cores,
          .vector_cores = cores,
          .width = width,
          .depth = depth,
          .lanes = width,
          .buffer = Bytes(MiB * 1048576)};
}

TEST(GemmCycles, SquareProductsTakeTheClosedForm) {
  // 128 x 128 arrays hold tiles of 512: reads n c k (3 / 512 - 1 / c) words at 64 a cycle.
  const GemmCost cost = gemm_cost(chip_with(1, 128, 128), {.n = 4096, .c = 4096, .k = 4096}, 1, ChipRules::phaze());
  EXPECT_DOUBLE_EQ(cost.cycles, std::pow(4096.0, 3) * (3.0 / 512 - 1.0 / 4096) / 64);
}

TEST(GemmCycles, OneSramPortFeedsAllCoresOnlyInTheOriginal) {
  const GemmWork work{.n = 4096, .c = 4096, .k = 4096, .weight = true};
  const SystolicChip chip = chip_with(8, 128, 128);
  const ChipRules original = ChipRules::phaze();
  EXPECT_EQ(gemm_cost(chip, work, 8, original).cycles, gemm_cost(chip, work, 1, original).cycles);
  ChipRules corrected = original;
  corrected.one_sram_port = false;
  EXPECT_LT(gemm_cost(chip, work, 8, corrected).cycles, gemm_cost(chip, work, 1, corrected).cycles / 4);
}

TEST(GemmCycles, PaddingBeatsDivisorsOnAPrimeFactor) {
  const GemmWork work{.n = 4096, .c = 4096, .k = 11008, .weight = true};  // 2^8 x 43
  const SystolicChip chip = chip_with(1, 256, 256);
  ChipRules free = ChipRules::phaze();
  free.one_sram_port = free.divisor_tiles = false;
  EXPECT_LT(gemm_cost(chip, work, 1, free).cycles, 0.5 * gemm_cost(chip, work, 1, ChipRules::phaze()).cycles);
}

TEST(GemmCycles, NeverBelowTheWorkOrTheTraffic) {
  for (const int side : {16, 64, 256})
    for (const std::int64_t k : {64, 1000, 4096}) {
      const GemmWork work{.batch = 3, .n = 777, .c = 512, .k = k};
      SystolicChip chip = chip_with(4, side, side);
      chip.hbm_stacks = 1;
      const GemmCost cost = gemm_cost(chip, work, 4, {});
      const double macs = 3.0 * 777 * 512 * static_cast<double>(k);
      EXPECT_GE(cost.cycles, macs / (4.0 * side * side));
      EXPECT_GE(cost.cycles, cost.hbm / hbm_bandwidth(chip) * kSystolicClock);
      EXPECT_GE(cost.hbm.value(), 2 * 3.0 * (777.0 * 512 + 777.0 * static_cast<double>(k)));
    }
}

ChipModel llama(const ChipRules& rules, std::int64_t micro_batch = 1) {
  return transformer_layers(
      find_model("llama-2-7b"),
      {.micro_batch = micro_batch, .sequence = 4096, .tracing = Tracing::one_layer, .rules = rules});
}

TEST(TransformerLayers, Llama2HasItsParameters) {
  const ChipModel model = llama({});
  std::int64_t elements = 0;
  for (const int layer : model.widths[0].order)
    elements += model.widths[0].distinct[static_cast<std::size_t>(layer)].parameter_elements;
  EXPECT_EQ(elements, 6'738'415'616);  // the published checkpoint
}

TEST(TransformerLayers, WidthsDivideWhatTensorParallelismDivides) {
  const ModelConfig bert = find_model("bert-large");
  const ChipModel model = transformer_layers(bert, {.sequence = 512, .widest = 8});
  ASSERT_EQ(model.widths.size(), 4u);
  const auto products = [](const LayerGraph& layer) {
    double macs = 0;
    for (const LayerOperator& op : layer.operators)
      macs += static_cast<double>(op.gemm.batch * op.gemm.n) * static_cast<double>(op.gemm.c * op.gemm.k);
    return macs;
  };
  for (const WidthLayers& width : model.widths)
    EXPECT_DOUBLE_EQ(products(width.distinct[1]) * width.width, products(model.widths[0].distinct[1]));
}

TEST(TransformerLayers, HeadIsRepeatedDroppedOrApart) {
  ChipRules rules;
  EXPECT_EQ(llama(rules).widths[0].distinct.size(), 3u);
  rules.head_in_layers = true;
  const ChipModel repeated = llama(rules);
  EXPECT_EQ(repeated.widths[0].distinct.size(), 2u);
  EXPECT_EQ(repeated.widths[0].distinct[1].operators.back().name, "head");
  const ChipModel dropped = transformer_layers(find_model("gpt2-xl"), {.sequence = 1024, .rules = rules});
  EXPECT_NE(dropped.widths[0].distinct[1].operators.back().name, "head");
}

TEST(KeptElements, AChainKeepsTheInputsOfProducts) {
  // x -> product -> add -> product: x and the sum are kept, the first product's result is not.
  LayerGraph graph{.name = "chain"};
  graph.operators = {{.name = "x", .elements = 10},
                     {.name = "a", .core = CoreClass::tensor, .gemm = {.n = 1, .c = 1, .k = 1}, .elements = 20},
                     {.name = "sum", .core = CoreClass::vector, .vector = VectorOp::add, .elements = 40},
                     {.name = "b", .core = CoreClass::tensor, .gemm = {.n = 1, .c = 1, .k = 1}, .elements = 80}};
  graph.edges = {{0, 1}, {1, 2}, {2, 3}};
  EXPECT_EQ(kept_elements(graph), 10 + 40);
}

TEST(KeptElements, TransformerBlocksAreNearThePublishedFormula) {
  // 34 s b h + 5 a s^2 b bytes (Korthikanti et al., arXiv 2205.05198, equation 1) for GPT-like blocks with dropout.
  const ModelConfig gpt = find_model("gpt3-175b");
  const ChipModel model = transformer_layers(gpt, {.micro_batch = 1, .sequence = 2048, .tracing = Tracing::one_layer});
  const double s = 2048, h = 12288, a = 96;
  const double bytes = 2.0 * static_cast<double>(model.widths[0].distinct[1].kept_elements);
  EXPECT_NEAR(bytes / (34 * s * h + 5 * a * s * s), 1, 0.15);
}

TrainingSystem small_system(double memory_GiB = 80) {
  return {.devices = 64,
          .memory = Bytes(memory_GiB * kGiB),
          .network = {{.devices = 64, .bandwidth = BytesPerSec(25e9), .latency = Seconds()}},
          .batch = 256};
}

ChipWorkload bert_workload(const Judgement& judgement, double memory_GiB = 80) {
  const ChipModelOptions options{.micro_batch = 1, .sequence = 128, .widest = 2, .rules = judgement.chip};
  return {transformer_layers(find_model("bert-large"), options), small_system(memory_GiB), judgement};
}

Judgement loop_judgement() {
  Judgement judgement;
  judgement.planner.stage_replicas = judgement.planner.interleaving = false;
  return judgement;
}

TEST(ChipWorkload, BoundsAreBoundsInBothModes) {
  for (const Judgement& judgement : {loop_judgement(), Judgement::phaze_fork()}) {
    const ChipWorkload workload = bert_workload(judgement);
    for (SystolicChip chip :
         {chip_with(4, 64, 64), chip_with(2, 128, 32, 8), chip_with(32, 16, 16), baseline_chip("TPUv4-like")}) {
      chip.hbm_stacks = judgement.original_placement ? 0 : 2;
      const ChipResult found = workload.evaluate(chip);
      ASSERT_TRUE(found.feasible) << found.why;
      EXPECT_LE(found.samples_per_second, workload.bound_samples_per_second(chip));
      EXPECT_LE(workload.bound_samples_per_second(chip), workload.ideal(chip).samples_per_second * (1 + 1e-6));
      const double bound = workload.bound_samples_per_second(chip);
      EXPECT_EQ(workload.bound_samples_per_second(chip, 0.99 * bound), bound);  // not below what is asked
      EXPECT_LE(workload.bound_samples_per_second(chip, 1.01 * bound), bound * (1 + 1e-9));
      EXPECT_LE(256 / found.energy.value(), workload.ideal(chip).samples_per_joule);
    }
  }
}

TEST(ChipWorkload, WeightGradientsCostAboutAThird) {
  Judgement judgement = Judgement::phaze_fork();
  SystolicChip chip = chip_with(1, 128, 128);
  chip.vector_cores = 64;  // products decide
  const double without = bert_workload(judgement).evaluate(chip).samples_per_second;
  judgement.chip.no_weight_gradients = false;
  const double with = bert_workload(judgement).evaluate(chip).samples_per_second;
  EXPECT_GT(without / with, 1.1);
  EXPECT_LT(without / with, 1.6);
}

TEST(ChipWorkload, TooLittleMemoryIsSaidWithWhatIsMissing) {
  const ChipResult found = bert_workload(loop_judgement(), 0.01).evaluate(chip_with(4, 64, 64));
  EXPECT_FALSE(found.feasible);
  EXPECT_GT(found.short_of, Bytes());
}

TEST(Economics, LargerDiesYieldLessAndCostMore) {
  EXPECT_GT(good_dies(Area(100)), 2 * good_dies(Area(200)));
  const SystolicChip small = chip_with(4, 64, 64), large = chip_with(16, 128, 128);
  EXPECT_GT(price(large, Bytes(80e9)), price(small, Bytes(80e9)));
  // Without a die: 80 GB at 15 USD, and a third on top.
  EXPECT_GT(price(small, Bytes(80e9)).value(), 80 * 15 * 4.0 / 3);
  EXPECT_NEAR(idle_power(large) / idle_power(small), area(large) / area(small), 1e-12);
}

ChipStudy study(Objective objective, StudyLimits limits = {}) {
  std::vector<StudyWorkload> workloads(1);
  workloads[0].name = "bert";
  workloads[0].choices.push_back(bert_workload(loop_judgement()));
  return {std::move(workloads), objective, Combination::weighted, limits, baseline_chip("TPUv4-like")};
}

std::vector<SystolicChip> small_space() {
  ChipSpace space = phaze_space();
  space.tensor_cores = space.vector_cores = {8, 16};
  space.width = space.depth = {32, 64};
  space.buffer_MiB = {8, 16};
  space.hbm_stacks = {2};
  space.smallest_ratio = 0;
  return enumerate(space);
}

TEST(ChipStudy, EveryObjectiveFindsItsBestOfAll) {
  const std::vector<SystolicChip> chips = small_space();
  ASSERT_EQ(chips.size(), 32u);
  for (const Objective objective :
       {Objective::throughput, Objective::per_area, Objective::per_watt, Objective::per_cost}) {
    const ChipStudy s = study(objective);
    SearchState state;
    certified_search(s.task(chips), {.threads = 2}, state);
    double best = 0;
    for (const SystolicChip& chip : chips) {
      const StudiedChip studied = s.evaluate(chip);
      EXPECT_LE(studied.score, s.bound(chip));
      EXPECT_LE(studied.score, studied.bound);
      best = std::max(best, studied.score);
    }
    EXPECT_EQ(certificate(state).score, best);
  }
}

TEST(ChipStudy, ParetoFrontIsThatOfAllChips) {
  const std::vector<SystolicChip> chips = small_space();
  const ChipStudy s = study(Objective::throughput);
  const SearchTask task = s.task(chips);
  std::vector<double> costs, bounds;
  for (std::size_t i = 0; i < chips.size(); ++i) {
    costs.push_back(area(chips[i]).value());
    bounds.push_back(task.bound(i));
  }
  const auto front = pareto_front(task, costs, bounds, {.threads = 2});
  ASSERT_FALSE(front.empty());
  for (const SystolicChip& chip : chips) {
    const double score = s.evaluate(chip).score, cost = area(chip).value();
    EXPECT_TRUE(std::ranges::any_of(front, [&](const ParetoPoint& p) { return p.cost <= cost && p.score >= score; }));
  }
  for (std::size_t i = 1; i < front.size(); ++i) EXPECT_GT(front[i].score, front[i - 1].score);
}

TEST(ChipStudy, LimitsOfPowerMakeChipsInfeasible) {
  const SystolicChip chip = chip_with(4, 64, 64);
  EXPECT_GT(study(Objective::throughput).evaluate(chip).score, 0);
  EXPECT_EQ(study(Objective::throughput, {.power = Watts(0.1)}).evaluate(chip).score,
            -std::numeric_limits<double>::infinity());
}

TEST(ChipStudy, WorstOfSeveralWorkloadsIsNoBetterThanTheirMean) {
  const auto two = [](Combination combination) {
    std::vector<StudyWorkload> workloads(2);
    workloads[0].choices.push_back(bert_workload(loop_judgement()));
    const ChipModelOptions options{.micro_batch = 1, .sequence = 256};
    workloads[1].choices.emplace_back(transformer_layers(find_model("gpt2"), options), small_system(),
                                      loop_judgement());
    return ChipStudy(std::move(workloads), Objective::throughput, combination, {}, baseline_chip("TPUv4-like"));
  };
  const SystolicChip chip = chip_with(16, 64, 64);
  EXPECT_LE(two(Combination::worst).evaluate(chip).score, two(Combination::weighted).evaluate(chip).score);
  EXPECT_NEAR(two(Combination::worst).evaluate(baseline_chip("TPUv4-like")).score, 1, 1e-12);  // the reference
}

}  // namespace
}  // namespace tessera
