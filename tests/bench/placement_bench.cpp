// Placing layers on devices and searching chips. TESSERA_DATA adds the recorded placements, whose own seconds are
// quoted as a label: the ratio is what counts.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "sim/config/json.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/place/chip/space.hpp"
#include "sim/place/chip/transformer_layers.hpp"
#include "sim/place/pipeline/phaze_file.hpp"
#include "sim/place/search/certified_search.hpp"
#include "sim/place/search/chip_study.hpp"

namespace tessera {
namespace {

/// Blocks of one size between an embedding and a head, at widths 1, 2, .. `widest`.
PipelineProblem chain(int blocks, int widest) {
  PipelineProblem problem{.widths = {},
                          .pools = {{.name = "chip", .devices = 1024, .memory = Bytes(80e9)}},
                          .network = {{.devices = 1024, .bandwidth = BytesPerSec(4e9), .latency = Seconds()}},
                          .micro_batches = 4096};
  for (int width = 1; width <= widest; width *= 2) {
    WidthProfile profile{.width = width, .layers = {}, .edges = {}};
    for (int i = 0; i < blocks + 2; ++i) {
      const bool end = i == 0 || i == blocks + 1;
      const Seconds time((end ? 1e-3 : 5e-3) / width);
      profile.layers.push_back({.forward = time,
                                .backward = 2.0 * time,
                                .parameters = Bytes(4e8 / width),
                                .activations = Bytes(1e9 / width),
                                .tensor_parallel = width > 1});
      if (i > 0) profile.edges.push_back({i - 1, i, Bytes(1e7)});
    }
    problem.widths.push_back(std::move(profile));
  }
  return problem;
}

void phaze_placement(benchmark::State& state) {
  const PipelineProblem problem = chain(static_cast<int>(state.range(0)), 8);
  for (auto _ : state) benchmark::DoNotOptimize(solve_phaze(problem));
}
BENCHMARK(phaze_placement)->Arg(32)->Arg(96)->Unit(benchmark::kMillisecond);

/// One width for all stages, as in the loop of a search.
void corrected_placement(benchmark::State& state) {
  const PipelineProblem problem = chain(static_cast<int>(state.range(0)), 8);
  const PlannerOptions options{.stage_widths = false, .stage_replicas = false, .interleaving = false};
  for (auto _ : state) benchmark::DoNotOptimize(plan_pipeline(problem, options));
}
BENCHMARK(corrected_placement)->Arg(32)->Arg(96)->Unit(benchmark::kMillisecond);

/// Every kind of plan.
void full_placement(benchmark::State& state) {
  const PipelineProblem problem = chain(static_cast<int>(state.range(0)), 2);
  for (auto _ : state) benchmark::DoNotOptimize(plan_pipeline(problem));
}
BENCHMARK(full_placement)->Arg(12)->Unit(benchmark::kMillisecond);

std::vector<SystolicChip> some_chips() {
  ChipSpace space = phaze_space();
  space.hbm_stacks = {4};
  space.tensor_cores = {4, 64};
  space.vector_cores = {16, 256};
  space.width = space.depth = {32, 128};
  space.buffer_MiB = {8, 32};
  space.area_limit = Area(332);
  return enumerate(space);
}

ChipStudy study_of(const char* model, std::int64_t sequence, int widest) {
  Judgement judgement;
  judgement.planner = {.stage_widths = false, .stage_replicas = false, .interleaving = false};
  const TrainingSystem system{
      .devices = 1024,
      .memory = Bytes(80 * 1073741824.0),
      .network = {{.devices = 1024, .bandwidth = BytesPerSec(4294967296.0), .latency = Seconds()}}};
  const ChipModelOptions options{.micro_batch = 1, .sequence = sequence, .widest = widest};
  std::vector<StudyWorkload> workloads(1);
  workloads.front().name = model;
  workloads.front().choices.emplace_back(transformer_layers(find_model(model), options), system, judgement);
  return ChipStudy(std::move(workloads), Objective::throughput, Combination::weighted, {}, some_chips().front());
}

/// The first of three bounds, which every chip of a search gets.
void chip_bound(benchmark::State& state) {
  const ChipStudy study = study_of("llama-2-7b", 4096, static_cast<int>(state.range(0)));
  const std::vector<SystolicChip> chips = some_chips();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(study.bound(chips[i++ % chips.size()]));
}
BENCHMARK(chip_bound)->Arg(1)->Arg(8)->Unit(benchmark::kMicrosecond);

void outer_search(benchmark::State& state) {
  const ChipStudy study = study_of("bert-large", 512, 1);
  const std::vector<SystolicChip> chips = some_chips();
  for (auto _ : state) {
    SearchState found;
    certified_search(study.task(chips), {.threads = 1}, found);
    benchmark::DoNotOptimize(found);
  }
  state.SetLabel(fmt::format("{} chips", chips.size()));
}
BENCHMARK(outer_search)->Unit(benchmark::kMillisecond);

void add_recorded(const std::filesystem::path& folder) {
  const Json manifest = read_json(folder / "manifest.json");
  for (const auto& [name, recorded] : manifest.fields()) {
    const double seconds = recorded.at("seconds").number();
    if (seconds < 0.1) continue;
    const auto input = std::make_shared<PhazeProblem>(read_phaze_problem(folder / "dp" / (name + ".in.json")));
    benchmark::RegisterBenchmark(("recorded/" + name).c_str(), [input, seconds](benchmark::State& state) {
      for (auto _ : state) benchmark::DoNotOptimize(solve_phaze(input->problem));
      state.SetLabel(fmt::format("the original: {} s", seconds));
    })->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (const char* const data = std::getenv("TESSERA_DATA"))
    tessera::add_recorded(std::filesystem::path(data) / "phaze");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
