// Costs stretched to times of whole sections.
#include "models/section_times.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/latency_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {
namespace {

SectionTimes some_times() {
  SectionTimes times;
  times.model = "gpt2";
  times.sequence = 128;
  times.embedding = {Seconds(1e-3), Seconds(2e-3)};
  times.block = {Seconds(3e-3), Seconds(7e-3)};
  times.head = {Seconds(5e-3), Seconds(11e-3)};
  times.source = "test";
  return times;
}

class Stretched : public testing::Test {
 protected:
  void price(const ParallelSpec& spec) {
    plan_ = make_plan(graph_, spec);
    costs_ = make_latency_model("roofline")->predict(plan_.kernels, find_gpu("A100-SXM-80GB"), {});
  }
  /// Of all tasks of a layer (-1: none) in a pass.
  Seconds sum(std::int32_t layer, bool forward) const {
    Seconds total;
    for (const Task& task : plan_.tasks)
      if (const auto* kernel = std::get_if<KernelId>(&task.work); kernel != nullptr && task.layer == layer &&
                                                                  task.phase != Phase::optimizer &&
                                                                  (task.phase == Phase::forward) == forward)
        total += costs_[static_cast<std::size_t>(*kernel)].time.p50;
    return total;
  }

  /// Both passes of a stage.
  Seconds stage_sum(int stage) const {
    Seconds total;
    for (std::size_t t = plan_.program_begin(stage); t < plan_.program_end(stage); ++t)
      if (const auto* kernel = std::get_if<KernelId>(&plan_.tasks[t].work);
          kernel != nullptr && plan_.tasks[t].phase != Phase::optimizer)
        total += costs_[static_cast<std::size_t>(*kernel)].time.p50;
    return total;
  }

  Graph graph_ = build_graph(find_model("gpt2"), {.mode = Mode::training,
                                                  .batch = 1,
                                                  .sequence = 128,
                                                  .dtype = Dtype::bf16,
                                                  .attention = AttentionKind::eager,
                                                  .optimizer = OptimizerKind::adam});
  Plan plan_;
  CostTable costs_;
};

TEST_F(Stretched, EverySectionTakesItsTime) {
  for (const ParallelSpec& spec :
       {ParallelSpec{.micro_batches = 3}, ParallelSpec{.pp = 3, .micro_batches = 4, .stage_layers = {0, 12, 0}}}) {
    price(spec);
    apply(some_times(), plan_, costs_);
    ASSERT_EQ(plan_.kernels.size(), costs_.size());
    const double n = static_cast<double>(spec.micro_batches);
    for (std::int32_t layer = 0; layer < 12; ++layer) {
      EXPECT_NEAR(sum(layer, true) / (n * Seconds(3e-3)), 1, 1e-9);
      EXPECT_NEAR(sum(layer, false) / (n * Seconds(7e-3)), 1, 1e-9);
    }
    EXPECT_NEAR(sum(-1, true) / (n * Seconds(6e-3)), 1, 1e-9);    // embedding and head
    EXPECT_NEAR(sum(-1, false) / (n * Seconds(13e-3)), 1, 1e-9);  // the same
    if (spec.pp > 1) {
      EXPECT_NEAR(stage_sum(0) / (n * Seconds(3e-3)), 1, 1e-9);
      EXPECT_NEAR(stage_sum(2) / (n * Seconds(16e-3)), 1, 1e-9);
    }
  }
}

TEST_F(Stretched, BlocksOfSomeStagesComputeTheirForwardAgain) {
  const ParallelSpec spec{.pp = 2, .micro_batches = 4, .stage_layers = {5, 7}};
  SectionTimes times = some_times();
  times.recomputed_stages = {0};
  price(spec);
  apply(times, plan_, costs_);
  for (std::int32_t layer = 0; layer < 12; ++layer) {
    EXPECT_NEAR(sum(layer, true) / (4 * Seconds(3e-3)), 1, 1e-9);
    EXPECT_NEAR(sum(layer, false) / (4 * Seconds(layer < 5 ? 10e-3 : 7e-3)), 1, 1e-9);
  }
  times.recomputed_stages = {2};
  price(spec);
  EXPECT_THROW(apply(times, plan_, costs_), RunError);
}

TEST_F(Stretched, TheOptimizerKeepsItsPrice) {
  price({});
  const auto optimizer = [&] {
    Seconds total;
    for (const Task& task : plan_.tasks)
      if (const auto* kernel = std::get_if<KernelId>(&task.work); kernel != nullptr && task.phase == Phase::optimizer)
        total += costs_[static_cast<std::size_t>(*kernel)].time.p50;
    return total;
  };
  const Seconds before = optimizer();
  EXPECT_GT(before, Seconds());
  apply(some_times(), plan_, costs_);
  EXPECT_EQ(optimizer(), before);
}

TEST_F(Stretched, NoKernelsForATimeIsAnError) {
  for (Operator& op : graph_.operators) op.layer = std::max(op.layer, 0);
  price({});
  try {
    apply(some_times(), plan_, costs_);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "gpt2 has no embedding's forward that could take the time given for it");
  }
}

TEST(SectionTimes, AreReadBackAsWritten) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "section_times_test.yaml";
  write_file(path, to_yaml(some_times()));
  const SectionTimes read = read_section_times(path);
  EXPECT_EQ(read.model, "gpt2");
  EXPECT_NEAR(read.block.backward / Seconds(7e-3), 1, 1e-12);
  EXPECT_NEAR(read.head.forward / Seconds(5e-3), 1, 1e-12);
  write_file(path,
             "model: gpt2\nsequence: 0\nmicro_batch: 1\nembedding: {forward: 0, backward: 0}\nblock: {forward: 1 "
             "us, backward: 1 us}\nhead: {forward: 1 us, backward: 1 us}\n");
  try {
    read_section_times(path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("sequence: must be at least 1, found 0"));
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera
