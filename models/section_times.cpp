#include "models/section_times.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/config/reader.hpp"
#include "sim/config/yaml.hpp"

namespace tessera {
namespace {

constexpr std::size_t kGroups = 7;  // sections x passes, and backward of blocks that recompute
constexpr std::size_t kRecomputing = 6;
constexpr std::array<std::string_view, kGroups> kNames{"embedding's forward", "embedding's backward", "block's forward",
                                                       "block's backward",    "head's forward",       "head's backward",
                                                       "block's backward"};
/// What a kernel takes at least, of its price: no cost is zero.
constexpr double kLeast = 1e-6;

enum class Section : std::uint8_t { embedding, block, head };

std::array<Seconds, kGroups> wanted(const SectionTimes& t) {
  return {t.embedding.forward,
          t.embedding.backward,
          t.block.forward,
          t.block.backward,
          t.head.forward,
          t.head.backward,
          t.block.forward + t.block.backward};
}

std::array<Joules, kGroups> wanted_energy(const SectionTimes& t) {
  return {t.embedding.forward_energy,
          t.embedding.backward_energy,
          t.block.forward_energy,
          t.block.backward_energy,
          t.head.forward_energy,
          t.head.backward_energy,
          t.block.forward_energy + t.block.backward_energy};
}

/// Walks a plan's tasks in their order: what has no layer is embedding or head by where it stands in its pass.
class SectionWalk {
 public:
  SectionWalk(const Plan& plan, const SectionTimes& times)
      : last_(plan.spec.pp - 1), recomputes_(static_cast<std::size_t>(plan.spec.pp)) {
    for (const int stage : times.recomputed_stages) recomputes_.at(static_cast<std::size_t>(stage)) = true;
  }

  /// None: a collective's, or the optimizer's.
  std::optional<std::size_t> group(const Task& task, int stage, int program) {
    if (task.phase == Phase::optimizer || !std::holds_alternative<KernelId>(task.work)) return std::nullopt;
    const Pass pass{stage, program, task.micro_batch, task.phase != Phase::forward};
    if (pass != pass_) behind_ = false;
    pass_ = pass;
    behind_ = behind_ || task.layer >= 0;
    const Section of = section(task, pass);
    if (of == Section::block && pass.backward && recomputes_[static_cast<std::size_t>(stage)]) return kRecomputing;
    return 2 * static_cast<std::size_t>(of) + (pass.backward ? 1 : 0);
  }

 private:
  struct Pass {
    int stage = -1, program = -1;
    std::int32_t micro_batch = 0;
    bool backward = false;
    friend bool operator==(const Pass&, const Pass&) = default;
  };
  [[nodiscard]] Section section(const Task& task, const Pass& pass) const {
    if (task.layer >= 0) return Section::block;
    if (last_ > 0) return pass.stage == last_ ? Section::head : Section::embedding;
    return behind_ != pass.backward ? Section::head : Section::embedding;
  }

  int last_;
  std::vector<bool> recomputes_;  // by stage
  Pass pass_{};
  bool behind_ = false;  // a layer of this pass came already
};

/// Calls `visit` with every task that belongs to a section.
template <class Plan, class Visit>
void for_each_task(Plan& plan, const SectionTimes& times, Visit visit) {
  SectionWalk walk(plan, times);
  for (int program = 0; program < plan.spec.programs(); ++program)
    for (std::size_t t = plan.program_begin(program); t < plan.program_end(program); ++t)
      if (const auto group = walk.group(plan.tasks[t], plan.spec.stage_of(program), program))
        visit(plan.tasks[t], *group);
}

/// What one micro-batch takes in each group, of blocks their mean.
struct Priced {
  std::array<Seconds, kGroups> time{};
  std::array<Joules, kGroups> energy{};
};
Priced priced(const SectionTimes& times, const Plan& plan, const CostTable& costs) {
  Priced sums;
  std::array<std::set<std::int32_t>, kGroups> layers;
  for_each_task(plan, times, [&](const Task& task, std::size_t group) {
    const KernelCost& cost = costs[static_cast<std::size_t>(std::get<KernelId>(task.work))];
    sums.time[group] += cost.time.p50;
    sums.energy[group] += cost.energy;
    layers[group].insert(task.layer);
  });
  for (std::size_t g = 0; g < kGroups; ++g) {
    if (layers[g].empty()) continue;
    const double all = static_cast<double>(plan.spec.micro_batches) * static_cast<double>(layers[g].size());
    sums.time[g] = sums.time[g] / all;
    sums.energy[g] = sums.energy[g] / all;
  }
  return sums;
}

struct Factor {
  double time = 0, energy = 0;
};
std::array<Factor, kGroups> factors(const SectionTimes& times, const Priced& sums) {
  std::array<Factor, kGroups> result{};
  const auto targets = wanted(times);
  const auto energies = wanted_energy(times);
  for (std::size_t g = 0; g < kGroups; ++g) {
    if (sums.time[g] > Seconds()) {
      const double time = std::max(kLeast, targets[g] / sums.time[g]);
      const bool given = energies[g] > Joules() && sums.energy[g] > Joules();
      result[g] = {time, given ? energies[g] / sums.energy[g] : time};
    } else if (targets[g] > Seconds() && g != kRecomputing && (g != 3 || times.recomputed_stages.empty())) {
      throw RunError(fmt::format("{} has no {} that could take the time given for it", times.model, kNames[g]));
    }
  }
  return result;
}

Json section_json(const SectionTime& s) {
  const auto text = [](Seconds time) { return fmt::format("{} us", time / Seconds(1e-6)); };
  Json json(Json::Object{{"forward", text(s.forward)}, {"backward", text(s.backward)}});
  if (s.forward_energy > Joules()) json["forward_energy"] = fmt::format("{} J", s.forward_energy.value());
  if (s.backward_energy > Joules()) json["backward_energy"] = fmt::format("{} J", s.backward_energy.value());
  return json;
}

}  // namespace

void describe(Reader& r, SectionTime& s) {
  r.required("forward", s.forward, "of one micro-batch");
  r.required("backward", s.backward, "of one micro-batch, gradients of weights included");
  r.optional("forward_energy", s.forward_energy, "of one device; default: in proportion to the kernels' own");
  r.optional("backward_energy", s.backward_energy, "of one device; default: in proportion to the kernels' own");
}

void describe(Reader& r, SectionTimes& s) {
  r.required("model", s.model, "whose times these are");
  r.required("sequence", s.sequence, "tokens per sample");
  r.required("micro_batch", s.micro_batch, "samples");
  r.optional("tp", s.tp, "tensor parallelism; the group's sums are not in the times");
  r.required("embedding", s.embedding, "what precedes the blocks");
  r.required("block", s.block, "one layer");
  r.required("head", s.head, "what follows them");
  r.optional("recomputed_stages", s.recomputed_stages, "stages of pp whose blocks' backward computes forward again");
  r.optional("source", s.source, "where the times are from");
  if (std::ranges::any_of(s.recomputed_stages, [](int stage) { return stage < 0; }))
    r.error("recomputed_stages", "a stage is negative");
  for (const auto& [key, value] : {std::pair<std::string_view, std::int64_t>{"sequence", s.sequence},
                                   {"micro_batch", s.micro_batch},
                                   {"tp", s.tp}})
    if (r.has(key) && value < 1) r.error(key, fmt::format("must be at least 1, found {}", value));
}

SectionTimes read_section_times(const std::filesystem::path& path) {
  return read<SectionTimes>(parse_document(path));
}

std::string to_yaml(const SectionTimes& s) {
  Json root(Json::Object{{"model", s.model},
                         {"sequence", s.sequence},
                         {"micro_batch", s.micro_batch},
                         {"tp", s.tp},
                         {"embedding", section_json(s.embedding)},
                         {"block", section_json(s.block)},
                         {"head", section_json(s.head)}});
  if (!s.recomputed_stages.empty()) root["recomputed_stages"] = Json::array();
  for (const int stage : s.recomputed_stages) root["recomputed_stages"].push(stage);
  root["source"] = s.source;
  return yaml_text(root);
}

void apply(const SectionTimes& times, Plan& plan, CostTable& costs) {
  for (const int stage : times.recomputed_stages)
    if (stage >= plan.spec.pp)
      throw RunError(fmt::format("section_times: stage {} recomputes, of {} stages", stage, plan.spec.pp));
  const auto factor = factors(times, priced(times, plan, costs));
  std::map<std::pair<KernelId, std::size_t>, KernelId> stretched;
  for_each_task(plan, times, [&](Task& task, std::size_t group) {
    auto& kernel = std::get<KernelId>(task.work);
    const auto [at, fresh] = stretched.try_emplace({kernel, group}, static_cast<KernelId>(plan.kernels.size()));
    if (fresh) {
      plan.kernels.push_back(Kernel(plan.kernels[static_cast<std::size_t>(kernel)]));
      KernelCost cost = costs[static_cast<std::size_t>(kernel)];
      cost.time *= factor[group].time;
      cost.energy = cost.energy * factor[group].energy;
      costs.push_back(cost);
    }
    kernel = at->second;
  });
}

}  // namespace tessera
