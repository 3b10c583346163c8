// Phaze's compatible mode against what the original computed: TESSERA_DATA names the folder of measurements.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <variant>

#include <gtest/gtest.h>

#include "sim/config/csv.hpp"
#include "sim/config/json.hpp"
#include "sim/place/chip/gemm_cycles.hpp"
#include "sim/place/chip/layer_estimator.hpp"
#include "sim/place/chip/space.hpp"
#include "sim/place/chip/systolic.hpp"
#include "sim/place/chip/traced_model.hpp"
#include "sim/place/search/baselines.hpp"
#include "sim/place/search/certified_search.hpp"
#include "sim/place/search/chip_workload.hpp"

namespace tessera {
namespace {

class Phaze : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TESSERA_DATA");
    if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
    folder_ = std::filesystem::path(data) / "phaze";
  }
  std::filesystem::path folder_;
};

TEST_F(Phaze, AreasAreThePublishedOnes) {
  const CsvTable table = CsvTable::read(folder_ / "outer_llama2.csv");
  const auto at = [&](std::size_t row, const char* name) { return table.number(row, table.need(name)).value(); };
  const std::vector<SystolicChip> chips = enumerate(phaze_space());
  auto chip = chips.begin();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (at(row, "mbs") != 1) continue;
    const SystolicChip wanted{.tensor_cores = static_cast<int>(at(row, "num_tc")),
                              .vector_cores = static_cast<int>(at(row, "num_vc")),
                              .width = static_cast<int>(at(row, "width")),
                              .depth = static_cast<int>(at(row, "depth")),
                              .lanes = static_cast<int>(at(row, "width")),
                              .buffer = Bytes(at(row, "glb_MiB") * 1048576)};
    chip = std::find(chip, chips.end(), wanted);  // in the same order
    ASSERT_NE(chip, chips.end()) << describe(wanted);
    EXPECT_NEAR(area(*chip).value() * 1e6, at(row, "area_um2"), 6e-4);  // the file has three decimals
  }
}

TEST_F(Phaze, AreaTableIsTheModels) {
  const Json model = read_json(folder_ / "area_model.json");
  EXPECT_NEAR(phaze_space().area_limit.value() * 1e6 / model.at("limit").number(), 1, 1e-15);
  const double mac = model.at("mac_plus_L1_tensor").number(), lane = model.at("mac_plus_L1_vector").number();
  const auto sram = [&](int bytes) { return model.at("L2_sram_bytes_to_area").at(std::to_string(bytes)).number(); };
  for (const auto& [MiB, buffer] : model.at("global_buffer_MiB_to_area").fields())
    for (int side = 2; side <= 256; side *= 2) {
      const SystolicChip chip{.tensor_cores = 3,
                              .vector_cores = 5,
                              .width = side,
                              .depth = side,
                              .lanes = side,
                              .buffer = Bytes(std::stod(MiB) * 1048576)};
      const double expected = 3 * (mac * side * side + sram(std::max(1024, 16 * side * side))) +
                              5 * (lane * side + sram(std::max(1024, 16 * side))) + buffer.number();
      EXPECT_NEAR(area(chip).value() * 1e6 / expected, 1, 1e-15);
    }
}

TEST_F(Phaze, ProductsTakeTheRecordedCycles) {
  const CsvTable table = CsvTable::read(folder_ / "tc_oracle.csv");
  int rows = 0, close = 0, exact = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto at = [&](const char* name) { return table.integer(row, table.need(name)).value(); };
    SystolicChip chip{.tensor_cores = static_cast<int>(at("num")),
                      .width = static_cast<int>(at("width")),
                      .depth = static_cast<int>(at("depth")),
                      .buffer = Bytes(static_cast<double>(at("glb_bytes")))};
    if (chip.width == 256 && chip.depth == 256 && chip.buffer == Bytes(2 * 1048576.0)) continue;  // degenerate mappings
    const GemmWork work{.n = at("N"), .c = at("C"), .k = at("K"), .weight = true};
    const double cycles = gemm_cost(chip, work, chip.tensor_cores, ChipRules::phaze()).cycles;
    const double error = cycles / table.number(row, table.need("cycles")).value() - 1;
    ++rows;
    close += std::abs(error) <= 0.1 ? 1 : 0;
    exact += std::abs(error) <= 1e-9 ? 1 : 0;
    EXPECT_LE(std::abs(error), 0.21) << describe(chip) << " N " << work.n << " C " << work.c << " K " << work.k;
  }
  EXPECT_EQ(rows, 704);
  EXPECT_GE(close, 0.97 * rows);  // the issue asks for 75 %
  EXPECT_GE(exact, 0.97 * rows);
}

SystolicChip chip_of(const Json& arch) {
  const auto at = [&](const char* name) { return static_cast<int>(arch.at(name).integer()); };
  return {.tensor_cores = at("num_tc"),
          .vector_cores = at("num_vc"),
          .width = at("width"),
          .depth = at("depth"),
          .lanes = at("width_vc"),
          .buffer = Bytes(arch.at("GLB_Buffer").number())};
}

/// Relative difference; the recorded mapper is off our tiles on one 128 x 128 core with 128 MiB and on a product of 64
/// rows.
double latency_error(const OperatorLatency& ours, const Json& recorded) {
  const double one = recorded.items()[0].number(), all = recorded.items()[1].number();
  return std::max(std::abs(ours.one_core.value() / one - 1), std::abs(ours.all_cores.value() / all - 1));
}

TEST_F(Phaze, OperatorsTakeTheRecordedTimes) {
  for (const int micro_batch : {1, 2, 4, 8}) {
    const std::string mbs = std::to_string(micro_batch);
    const auto graphs = folder_ / "llama2" / ("graph_mbs" + mbs + ".json");
    const Json chips = read_json(folder_ / "llama2" / ("latency_mbs" + mbs + ".json"));
    for (const char* layer : {"-1", "0"}) {
      const LayerEstimator estimator(read_traced_layer(graphs, layer), 1, BytesPerSec(4294967296.0),
                                     ChipRules::phaze_fork());
      for (const Json& recorded : chips.items()) {
        const SystolicChip chip = chip_of(recorded.at("arch"));
        const PassCost forward = estimator.cost(chip, Direction::forward);
        const PassCost backward = estimator.cost(chip, Direction::backward);
        for (std::size_t i = 0; i < estimator.layer().operators.size(); ++i) {
          const LayerOperator& op = estimator.layer().operators[i];
          if (op.core == CoreClass::none) continue;
          const Json& times = recorded.at("latency_seconds").at(layer).at(op.name);
          const bool skinny = op.gemm.n == 64;
          const double bound = skinny ? 0.1 : 1e-9;
          EXPECT_LE(latency_error(forward.latency[i], times.at("fwd")), bound) << describe(chip) << " " << op.name;
          EXPECT_LE(latency_error(backward.latency[i], times.at("bwd")), bound) << describe(chip) << " " << op.name;
        }
      }
    }
  }
}

TrainingSystem released_system(Bytes memory) {
  return {.devices = 1024,
          .memory = memory,
          .network = {{.devices = 1024, .bandwidth = BytesPerSec(4294967296.0), .latency = Seconds()}},
          .batch = 4096};
}

TEST_F(Phaze, ThroughputOfThePublicLog) {
  // Samples/s on the v7-like chip with 80 GiB; micro-batch 1 stopped at a 1 % gap there, and 63.33 is known.
  const std::map<int, std::pair<double, double>> log{
      {1, {63.0402, 47.632}}, {2, {83.17015, 63.8948}}, {4, {88.61221, 68.7293}}};
  for (const auto& [micro_batch, expected] : log) {
    const Judgement judgement = Judgement::phaze_fork();
    const ChipWorkload workload(
        read_traced_model(folder_ / "llama2" / ("graph_mbs" + std::to_string(micro_batch) + ".json"), micro_batch, 32,
                          judgement.chip),
        released_system(Bytes(80 * 1073741824.0)), judgement);
    const ChipResult found = workload.evaluate(baseline_chip("v7-like"));
    const ChipResult expert = workload.evaluate_expert(baseline_chip("v7-like"),
                                                       {.stages = 32, .width = 1, .replicas = 32, .blocks = 32}, true);
    EXPECT_EQ(found.gap, 0);
    if (micro_batch == 1) {
      EXPECT_GE(found.samples_per_second, expected.first);
      EXPECT_NEAR(found.samples_per_second, 63.33219, 63.3 * 1e-5);
    } else {
      EXPECT_NEAR(found.samples_per_second / expected.first, 1, 1e-5);
      EXPECT_NEAR(expert.samples_per_second / expected.second, 1, 1e-5);
    }
    EXPECT_LE(found.samples_per_second, workload.bound_samples_per_second(baseline_chip("v7-like")));
    EXPECT_LE(found.samples_per_second, workload.ideal(baseline_chip("v7-like")).samples_per_second);
  }
}

/// The recorded outer search: layer cycles of 3,810 chips, in "milliseconds" as released; the head is no part of a
/// layer.
struct StoredChips {
  std::vector<SystolicChip> chips;
  std::vector<Area> areas;
  std::vector<std::array<double, 8>> cycles;  // layer forward, backward, their bounds, embedding forward, backward
};

StoredChips stored_chips(const std::filesystem::path& folder, int micro_batch) {
  const CsvTable table = CsvTable::read(folder / "outer_llama2.csv");
  StoredChips stored;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto at = [&](const char* name) { return table.number(row, table.need(name)).value(); };
    if (at("mbs") != micro_batch) continue;
    const int width = static_cast<int>(at("width"));
    stored.chips.push_back({.tensor_cores = static_cast<int>(at("num_tc")),
                            .vector_cores = static_cast<int>(at("num_vc")),
                            .width = width,
                            .depth = static_cast<int>(at("depth")),
                            .lanes = width,
                            .buffer = Bytes(at("glb_MiB") * 1048576)});
    stored.areas.push_back(area(stored.chips.back()));
    stored.cycles.push_back({at("layer_fwd_cycles"), at("layer_bwd_cycles"), at("bound_fwd_cycles"),
                             at("bound_bwd_cycles"), at("head_fwd_cycles"), at("head_bwd_cycles")});
  }
  return stored;
}

class StoredSearch {
 public:
  StoredSearch(const std::filesystem::path& folder, int micro_batch)
      : stored_(stored_chips(folder, micro_batch)),
        workload_(headless(folder, micro_batch), released_system(Bytes(80 * 1073741824.0)), Judgement::phaze()) {}

  [[nodiscard]] const StoredChips& chips() const { return stored_; }
  [[nodiscard]] double score(std::size_t chip, bool bound) const {
    const auto& c = stored_.cycles[chip];
    const auto time = [](double cycles) { return Seconds(cycles / 1.05e6); };
    const LayerTimes layer{time(c[bound ? 2 : 0]), time(c[bound ? 3 : 1])}, embedding{time(c[4]), time(c[5])};
    const PlanOutcome outcome = solve_phaze(workload_.problem({{embedding, layer}}));
    const auto* plan = std::get_if<PipelinePlan>(&outcome);
    return plan == nullptr ? -std::numeric_limits<double>::infinity() : 4096 / plan->time.value();
  }

 private:
  /// The recorded graph without its head.
  static ChipModel headless(const std::filesystem::path& folder, int micro_batch) {
    ChipRules rules = ChipRules::phaze();
    const auto file = folder / "llama2" / ("graph_mbs" + std::to_string(micro_batch) + ".json");
    ChipModel model = read_traced_model(file, micro_batch, 32, rules);
    LayerGraph& block = model.widths[0].distinct[1];
    block.parameter_elements -= 4096LL * 32000;
    block.traced_elements -= 3LL * micro_batch * 4096 * 32000;  // the logits, copied twice
    return model;
  }

  StoredChips stored_;
  ChipWorkload workload_;
};

TEST_F(Phaze, OuterSearchOnTheRecordedCycles) {
  struct Expected {
    double best, share;
  };
  // Samples per "millisecond" and the stop rule's share of the best: the recorded rerun, 80 GB.
  const std::map<int, Expected> expected{{1, {0.1415, 0.83}}, {2, {0.1757, 0.76}}, {4, {0.1764, 0.70}}};
  for (const auto& [micro_batch, known] : expected) {
    const StoredSearch search(folder_, micro_batch);
    const std::size_t count = search.chips().chips.size();
    ASSERT_EQ(count, 3810u);
    SearchState state;
    certified_search({.candidates = count,
                      .bound = [&](std::size_t i) { return search.score(i, true); },
                      .exact = [&](std::size_t i) { return SearchScore(search.score(i, false)); }},
                     {.threads = 2}, state);
    const Certificate proof = certificate(state);
    EXPECT_TRUE(proof.complete);
    EXPECT_LE(proof.next_bound, proof.score);
    double best = 0;  // of all, one by one
    for (std::size_t i = 0; i < count; ++i) best = std::max(best, search.score(i, false));
    EXPECT_EQ(proof.score, best);
    EXPECT_NEAR(proof.score, known.best, 5e-5);
    const StopRuleResult stopped =
        stop_rule_search(search.chips().areas, [&](std::size_t i) { return search.score(i, false); });
    EXPECT_NEAR(stopped.score / proof.score, known.share, 0.005) << stopped.explored.size() << " " << stopped.buckets;
    RecordProperty("solved_mbs" + std::to_string(micro_batch), static_cast<int>(proof.solved));
  }
}

}  // namespace
}  // namespace tessera
