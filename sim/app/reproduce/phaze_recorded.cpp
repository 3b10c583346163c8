#include <array>
#include <limits>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "sim/app/reproduce/phaze.hpp"
#include "sim/config/csv.hpp"
#include "sim/place/chip/traced_model.hpp"
#include "sim/place/search/baselines.hpp"

namespace tessera {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr int kBlocks = 32;  // of Llama2-7B
constexpr std::int64_t kSequence = 4096, kVocabulary = 32000, kHidden = 4096;
constexpr double kReleasedClock = 1.05e6;
constexpr int kThreads = 2;

/// The original's system: 1,024 devices, one link of 4 GiB/s each.
TrainingSystem released_system() {
  return {.devices = 1024,
          .memory = Bytes(80 * 1073741824.0),
          .network = {{.devices = 1024, .bandwidth = BytesPerSec(4294967296.0), .latency = Seconds()}}};
}

std::filesystem::path graph_file(const std::filesystem::path& data, int micro_batch) {
  return data / "phaze" / "llama2" / fmt::format("graph_mbs{}.json", micro_batch);
}

ChipWorkload traced_workload(const std::filesystem::path& data, int micro_batch, const Judgement& judgement,
                             const TrainingSystem& system) {
  return {read_traced_model(graph_file(data, micro_batch), micro_batch, kBlocks, judgement.chip), system, judgement};
}

/// The recorded rerun left the head out of the layers: its weights, and the logits with two copies.
ChipModel headless_model(const std::filesystem::path& data, int micro_batch) {
  ChipModel model = read_traced_model(graph_file(data, micro_batch), micro_batch, kBlocks, ChipRules::phaze());
  LayerGraph& block = model.widths[0].distinct[1];
  block.parameter_elements -= kHidden * kVocabulary;
  block.traced_elements -= 3 * micro_batch * kSequence * kVocabulary;
  return model;
}

struct RecordedChip {
  SystolicChip chip;
  LayerTimes embedding, layer, bound;
};

std::vector<RecordedChip> recorded_chips(const CsvTable& table, int micro_batch) {
  std::vector<RecordedChip> chips;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto at = [&](const char* name) { return table.number(row, table.need(name)).value_or(0); };
    const auto time = [&](const char* name) { return Seconds(at(name) / kReleasedClock); };
    if (at("mbs") != micro_batch) continue;
    const int width = static_cast<int>(at("width"));
    chips.push_back({{.tensor_cores = static_cast<int>(at("num_tc")),
                      .vector_cores = static_cast<int>(at("num_vc")),
                      .width = width,
                      .depth = static_cast<int>(at("depth")),
                      .lanes = width,
                      .buffer = Bytes(at("glb_MiB") * 1048576)},
                     {time("head_fwd_cycles"), time("head_bwd_cycles")},
                     {time("layer_fwd_cycles"), time("layer_bwd_cycles")},
                     {time("bound_fwd_cycles"), time("bound_bwd_cycles")}});
  }
  return chips;
}

PhazeRecordedRow search_recorded(const std::vector<RecordedChip>& chips, const ChipWorkload& workload,
                                 int micro_batch) {
  const auto score = [&](const RecordedChip& chip, const LayerTimes& layer) {
    const PlanOutcome outcome = solve_phaze(workload.problem({{chip.embedding, layer}}));
    const auto* plan = std::get_if<PipelinePlan>(&outcome);
    return plan == nullptr ? kNone : static_cast<double>(workload.system().batch) / plan->time.value();
  };
  SearchState state;
  certified_search({.candidates = chips.size(),
                    .bound = [&](std::size_t i) { return score(chips[i], chips[i].bound); },
                    .exact = [&](std::size_t i) { return SearchScore(score(chips[i], chips[i].layer)); }},
                   {.threads = kThreads}, state);
  PhazeRecordedRow row{.micro_batch = micro_batch, .chip = {}, .certificate = certificate(state)};
  row.best = row.certificate.score;
  row.chip = describe(chips[row.certificate.best].chip);
  std::vector<Area> areas;
  for (const RecordedChip& chip : chips) {
    areas.push_back(area(chip.chip));
    if (chip.chip == baseline_chip("TPUv4-like")) row.reference = score(chip, chip.layer);
  }
  const StopRuleResult stopped =
      stop_rule_search(areas, [&](std::size_t i) { return score(chips[i], chips[i].layer); });
  row.stopped = stopped.score;
  row.stop_chips = stopped.explored.size();
  row.stop_buckets = stopped.buckets;
  return row;
}

struct ChipCorrection {
  const char *name, *what;
  bool ChipRules::*rule;
};
constexpr std::array kChipCorrections{
    ChipCorrection{"weight gradients", "backward has the products of the weights' gradients",
                   &ChipRules::no_weight_gradients},
    ChipCorrection{"whole micro-batch", "linear layers see all samples", &ChipRules::one_sample_linear},
    ChipCorrection{"head apart", "the head is one layer, not part of every one", &ChipRules::head_in_layers},
    ChipCorrection{"SRAM port per core", "an operator on all cores uses all ports", &ChipRules::one_sram_port},
    ChipCorrection{"free tiles", "padding instead of divisors", &ChipRules::divisor_tiles},
    ChipCorrection{"HBM and buffer shared", "products wait for memory, concurrent ones share it",
                   &ChipRules::free_product_memory},
    ChipCorrection{"vector memory", "vector functions move their tensors, fused ones take their time",
                   &ChipRules::free_vector_memory},
    ChipCorrection{"activations by liveness", "what backward reads, not every traced output",
                   &ChipRules::traced_activations},
};

}  // namespace

std::vector<PhazeLogRow> phaze_log(const std::filesystem::path& data) {
  // The published run's log: best throughput and its expert strategy of 32 x 32.
  std::vector<PhazeLogRow> rows{{.micro_batch = 1, .log = 63.0402, .log_expert = 47.632},
                                {.micro_batch = 2, .log = 83.17015, .log_expert = 63.8948},
                                {.micro_batch = 4, .log = 88.61221, .log_expert = 68.7293}};
  for (PhazeLogRow& row : rows) {
    const ChipWorkload workload = traced_workload(data, row.micro_batch, Judgement::phaze_fork(), released_system());
    row.ours = workload.evaluate(baseline_chip("v7-like")).samples_per_second;
    const ExpertPlan expert{.stages = 32, .width = 1, .replicas = 32, .blocks = kBlocks};
    row.expert = workload.evaluate_expert(baseline_chip("v7-like"), expert, true).samples_per_second;
  }
  return rows;
}

std::vector<PhazeRecordedRow> phaze_recorded(const std::filesystem::path& data, const PhazeProgress& progress) {
  const CsvTable table = CsvTable::read(data / "phaze" / "outer_llama2.csv");
  std::vector<PhazeRecordedRow> rows;
  for (const int micro_batch : {1, 2, 4}) {
    progress(fmt::format("recorded cycles, micro-batch {}", micro_batch));
    const ChipWorkload workload(headless_model(data, micro_batch), released_system(), Judgement::phaze());
    rows.push_back(search_recorded(recorded_chips(table, micro_batch), workload, micro_batch));
  }
  return rows;
}

std::vector<PhazeCorrectionRow> phaze_corrections(const std::filesystem::path& data) {
  std::vector<PhazeCorrectionRow> rows;
  constexpr int kMicroBatch = 2;
  const auto add = [&](std::string name, std::string what, const Judgement& judgement) {
    const ChipWorkload workload = traced_workload(data, kMicroBatch, judgement, released_system());
    rows.push_back({std::move(name), std::move(what), workload.evaluate(baseline_chip("TPUv4-like")).samples_per_second,
                    workload.evaluate(baseline_chip("v7-like")).samples_per_second});
  };
  add("none", "the public fork", Judgement::phaze_fork());
  add("as released", "cycles / 1.05e6 beside seconds: samples per \"millisecond\" x 1000", Judgement::phaze());
  rows.back().tpu *= 1000;
  rows.back().large *= 1000;
  for (const ChipCorrection& correction : kChipCorrections) {
    Judgement judgement = Judgement::phaze_fork();
    judgement.chip.*correction.rule = false;
    add(correction.name, correction.what, judgement);
  }
  Judgement placement = Judgement::phaze_fork();
  placement.original_placement = false;
  add("placement", "Adam in mixed precision, every stage's gradient sums, own plans for each stage", placement);
  add("all", "the corrected mode", Judgement{});
  return rows;
}

}  // namespace tessera
