#include "sim/app/search/search_scenario.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

Judgement judgement_of(const SearchScenario& s, PlanKinds kinds) {
  Judgement judgement;
  if (s.mode == SearchMode::phaze) judgement = Judgement::phaze();
  if (s.mode == SearchMode::phaze_fork) judgement = Judgement::phaze_fork();
  judgement.planner.stage_replicas = judgement.planner.interleaving = kinds != PlanKinds::exact;
  judgement.planner.stage_widths = kinds == PlanKinds::full;
  judgement.schedule_nodes = kinds == PlanKinds::exact ? 0 : kThoroughNodes;  // list schedules for thousands of chips
  if (kinds == PlanKinds::replayable) judgement.planner.device_orders = false;
  if (s.plan)
    judgement.expert = ExpertPlan{.stages = s.plan->stages, .width = s.plan->width, .replicas = s.plan->replicas};
  return judgement;
}

TrainingSystem system_of(const SystemSection& s) {
  TrainingSystem system{.devices = s.devices,
                        .memory = s.memory,
                        .network = {},
                        .batch = s.batch,
                        .recomputation = s.recomputation,
                        .optimizer = s.optimizer,
                        .zero_stage = s.zero};
  for (const NetworkSection& level : s.network)
    system.network.push_back({level.devices, level.bandwidth, level.latency});
  return system;
}

PowerRange range_of(const std::vector<int>& values) {
  return {values.front(), values.back()};
}

/// Paths of models are meant from the scenario's folder.
void resolve_models(Node& root, const std::filesystem::path& folder) {
  for (auto& [key, workloads] : root.fields) {
    if (key != "workloads") continue;
    for (Node& workload : workloads.items)
      for (auto& [name, node] : workload.fields)
        if (name == "model" && node.scalar.ends_with(".json") && std::filesystem::path(node.scalar).is_relative())
          node.scalar = std::filesystem::absolute(folder / node.scalar).lexically_normal().string();
  }
}

}  // namespace

SystolicChip reference_chip(const SearchScenario& s) {
  SystolicChip chip = baseline_chip("TPUv4-like");
  chip.hbm_stacks = s.mode == SearchMode::corrected ? *std::ranges::max_element(s.space.hbm_stacks) : 0;
  return chip;
}

SystolicChip chip_of(const ChipSection& section) {
  SystolicChip chip{.tensor_cores = section.tensor_cores,
                    .vector_cores = section.vector_cores,
                    .width = section.width,
                    .depth = section.depth,
                    .lanes = section.width,
                    .buffer = section.buffer};
  if (section.name) chip = baseline_chip(*section.name);
  chip.hbm_stacks = section.hbm_stacks;
  return chip;
}

std::vector<SystolicChip> candidates_of(const SearchScenario& s) {
  if (s.search == SearchWhat::placement) return {chip_of(*s.chip)};
  ChipSpace space = phaze_space();
  space.tensor_cores = range_of(s.space.tensor_cores);
  space.vector_cores = range_of(s.space.vector_cores);
  space.width = range_of(s.space.width);
  space.depth = range_of(s.space.depth);
  space.buffer_MiB = range_of(s.space.buffer_MiB);
  space.hbm_stacks = s.space.hbm_stacks;
  space.area_limit = s.space.area.value_or(area(reference_chip(s)));
  // The original's lower cut, 30 % of its limit, which a wider limit does not move.
  const Area cut = space.smallest_ratio * std::min(space.area_limit, area(reference_chip(s)));
  space.smallest_ratio = s.space.smallest_area.value_or(cut) / space.area_limit;
  return enumerate(space);
}

ChipStudy study_of(const SearchScenario& s, PlanKinds kinds) {
  const Judgement judgement = judgement_of(s, kinds);
  std::vector<StudyWorkload> workloads;
  for (const SearchWorkload& w : s.workloads) {
    const ModelConfig model = find_model(w.model);
    StudyWorkload& workload =
        workloads.emplace_back(StudyWorkload{.name = model.name, .choices = {}, .weight = w.weight});
    for (const std::int64_t micro_batch : w.micro_batches) {
      const ChipModelOptions options{.micro_batch = micro_batch,
                                     .sequence = w.sequence,
                                     .tracing = w.tracing,
                                     .widest = w.widest,
                                     .narrowest = w.narrowest,
                                     .rules = judgement.chip};
      Judgement own = judgement;
      if (own.expert) own.expert->blocks = static_cast<int>(model.layers);
      workload.choices.emplace_back(transformer_layers(model, options), system_of(s.system), own);
    }
  }
  return ChipStudy(std::move(workloads), s.objective, s.combine, {s.power, s.price}, reference_chip(s));
}

std::optional<StudiedChip> expert_of(const SearchScenario& s) {
  if (!s.expert) return std::nullopt;
  SearchScenario fixed = s;
  fixed.plan = s.expert;
  return study_of(fixed, PlanKinds::full).evaluate(reference_chip(s));
}

SearchFile read_search(const std::filesystem::path& path, std::span<const std::string> settings) {
  SearchFile file{.path = path, .document = parse_document(path), .scenario = {}};
  set_values(file.document, settings);
  resolve_models(file.document.root, path.parent_path());
  file.scenario = read<SearchScenario>(file.document);
  return file;
}

}  // namespace tessera
