// What a search's scenario may say and what is wrong with one: the only place that knows its keys and defaults.
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "sim/app/search/search_scenario.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

static constexpr std::array<std::string_view, 3> enum_names(SearchWhat) {
  return {"both", "chip", "placement"};
}
static constexpr std::array<std::string_view, 3> enum_names(SearchMode) {
  return {"corrected", "phaze", "phaze-fork"};
}
static constexpr std::array<std::string_view, 2> enum_names(Tracing) {
  return {"whole-model", "one-layer"};
}
static constexpr std::array<std::string_view, 2> enum_names(PipelineOptimizer) {
  return {"sgd", "adam"};
}

static constexpr std::array<std::string_view, 3> enum_names(OperatorSolver) {
  return {"own", "cbc", "glpk"};
}

namespace {

constexpr int kMostDevices = 1 << 20;
constexpr int kWidest = 1024;                            // tensor parallelism
constexpr double kMostSamples = 1 << 30;                 // of a batch
constexpr int kMostCores = 1 << 16, kWidestCore = 4096;  // far beyond any die
constexpr int kMostStacks = 64;
constexpr Bytes kMostMemory{1125899906842624.0};  // 1 PiB

void at_least(Reader& r, std::string_view key, double value, double least) {
  if (r.has(key) && value < least) r.error(key, fmt::format("must be at least {}, found {}", least, value));
}

void within(Reader& r, std::string_view key, double value, double least, double most) {
  at_least(r, key, value, least);
  if (r.has(key) && value > most) r.error(key, fmt::format("must be at most {}, found {}", most, value));
}

/// Tensor widths are powers of two.
void check_width(Reader& r, std::string_view key, int value) {
  if (r.has(key) && (value < 1 || value > kWidest || !std::has_single_bit(static_cast<unsigned>(value))))
    r.error(key, fmt::format("expected a power of two up to {}, found {}", kWidest, value));
}

void check_range(Reader& r, std::string_view key, const std::vector<int>& range) {
  if (!r.has(key)) return;
  if (range.size() != 2) return r.error(key, fmt::format("expected [lowest, highest], found {} numbers", range.size()));
  for (const int v : range)
    if (v < 1 || v > 1 << 16 || !std::has_single_bit(static_cast<unsigned>(v)))
      return r.error(key, fmt::format("expected powers of two, found {}", v));
  if (range[0] > range[1]) r.error(key, fmt::format("the lowest, {}, is above the highest, {}", range[0], range[1]));
}

std::vector<std::string> chip_names() {
  std::vector<std::string> names;
  for (const NamedChip& chip : baseline_chips()) names.emplace_back(chip.name);
  return names;
}

void check_plan(Reader& r, std::string_view key, const std::optional<PlanSection>& plan, int devices) {
  if (!plan) return;
  const std::int64_t used = std::int64_t{plan->stages} * plan->width * plan->replicas;
  if (used > devices)
    r.error(key, fmt::format("stages {} x width {} x replicas {} = {} devices, the system has {}", plan->stages,
                             plan->width, plan->replicas, used, devices));
}

void check_parts(Reader& r, SearchScenario& s) {
  if (s.search == SearchWhat::placement && !s.chip)
    r.error("", "missing key 'chip', which a search for placements needs");
  if (s.search != SearchWhat::placement && s.chip)
    r.error("chip", "only a search for placements takes one chip; give its limits in 'space'");
  if (s.search == SearchWhat::chip && !s.plan) r.error("", "missing key 'plan', which a search for chips alone needs");
  if (s.search != SearchWhat::chip && s.plan) r.error("plan", "only a search for chips alone takes a plan");
  if (s.mode != SearchMode::corrected && std::ranges::any_of(s.space.hbm_stacks, [](int n) { return n != 0; }) &&
      s.search != SearchWhat::placement)
    r.error("space", "the original's bandwidth is fixed; give hbm_stacks: [0]");
  check_plan(r, "plan", s.plan, s.system.devices);
  check_plan(r, "expert", s.expert, s.system.devices);
  for (const SearchWorkload& w : s.workloads)
    for (const std::int64_t micro : w.micro_batches)
      if (s.system.batch % micro != 0)
        r.error("workloads", fmt::format("micro-batch {} does not divide the batch of {}", micro, s.system.batch));
}

void check_space(Reader& r, const SearchScenario& s) {
  if (!r.ok() || s.search == SearchWhat::placement || !candidates_of(s).empty()) return;
  r.error(
      r.has("space") ? "space" : "",
      "no chip is within these limits: widen the ranges, raise area, lower smallest_area or the number of HBM stacks");
}

}  // namespace

void describe(Reader& r, SearchWorkload& s) {
  r.required("model", s.model, "a built-in model (`tessera list models`) or a Hugging Face config.json");
  r.required("sequence", s.sequence, "tokens per sample");
  r.optional("micro_batches", s.micro_batches, "sizes that may be chosen");
  r.optional("widest", s.widest, "largest tensor parallelism; widths are powers of two");
  r.optional("narrowest", s.narrowest, "smallest tensor parallelism");
  r.optional("tracing", s.tracing, "how the original traced it, which decides what its errors do");
  r.optional("weight", s.weight, "beside other workloads");
  within(r, "sequence", static_cast<double>(s.sequence), 1, 1 << 24);
  check_width(r, "widest", s.widest);
  check_width(r, "narrowest", s.narrowest);
  if (r.has("weight") && (s.weight <= 0 || s.weight > 1e6))
    r.error("weight", fmt::format("must be positive and at most 1e6, found {}", s.weight));
  if (s.widest < s.narrowest) r.error("widest", fmt::format("{} is below narrowest, {}", s.widest, s.narrowest));
  if (s.micro_batches.empty()) r.error("micro_batches", "at least one size is needed");
  for (const std::int64_t size : s.micro_batches)
    if (size < 1) r.error("micro_batches", fmt::format("must be at least 1, found {}", size));
  if (!r.has("model") || !r.ok()) return;
  try {
    const ModelConfig model = find_model(s.model);
    transformer_layers(model, {.micro_batch = 1, .sequence = s.sequence, .widest = s.widest, .narrowest = s.narrowest});
    if (model.positions > 0 && s.sequence > model.positions)
      r.error("sequence", fmt::format("longer than the {} positions that {} has learned", model.positions, model.name));
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) r.error("model", to_string(d).substr(d.file.empty() ? 7 : 0));
  }
}

void describe(Reader& r, NetworkSection& s) {
  r.required("devices", s.devices, "neighbours that reach each other at this level");
  r.required("bandwidth", s.bandwidth, "of one device, one direction");
  r.optional("latency", s.latency, "of one transfer");
  at_least(r, "devices", s.devices, 1);
  if (r.has("bandwidth") && s.bandwidth <= BytesPerSec()) r.error("bandwidth", "must be positive");
}

void describe(Reader& r, SystemSection& s) {
  r.optional("devices", s.devices, "that train one model");
  r.optional("memory", s.memory, "HBM of one device");
  r.optional("batch", s.batch, "samples of one optimizer step");
  r.optional("recomputation", s.recomputation, "plans may compute activations again");
  r.optional("optimizer", s.optimizer, "whose state is kept");
  r.optional("zero", s.zero, "ZeRO stage, 0 to 3");
  r.required("network", s.network, "innermost level first");
  at_least(r, "devices", s.devices, 1);
  within(r, "batch", static_cast<double>(s.batch), 1, kMostSamples);
  if (s.devices > kMostDevices)
    r.error("devices", fmt::format("must be at most {}, found {}", kMostDevices, s.devices));
  if (r.has("memory") && (s.memory <= Bytes() || s.memory > kMostMemory))
    r.error("memory", "must be positive and at most 1 PiB");
  if (s.zero < 0 || s.zero > 3) r.error("zero", fmt::format("expected 0, 1, 2 or 3, found {}", s.zero));
  if (r.has("network") && r.ok() && s.network.empty()) r.error("network", "at least one level is needed");
  for (std::size_t i = 1; i < s.network.size(); ++i)
    if (s.network[i].devices <= s.network[i - 1].devices)
      r.error("network", "each level reaches more devices than the one before");
  if (r.has("network") && r.ok() && s.network.back().devices < s.devices)
    r.error("network", fmt::format("the outermost level reaches {} devices, the system has {}",
                                   s.network.back().devices, s.devices));
}

void describe(Reader& r, SpaceSection& s) {
  r.optional("tensor_cores", s.tensor_cores, "[lowest, highest] power of two");
  r.optional("vector_cores", s.vector_cores, "the same");
  r.optional("width", s.width, "rows of an array and lanes of a vector core");
  r.optional("depth", s.depth, "columns of an array");
  r.optional("buffer_MiB", s.buffer_MiB, "global buffer");
  r.optional("hbm_stacks", s.hbm_stacks, "numbers of stacks, 300 GB/s each; 0: the original's fixed 268.8 GB/s");
  r.optional("area", s.area, "of the die; default: that of the TPUv4-like chip with as many stacks as the most given");
  r.optional("smallest_area", s.smallest_area,
             "default: 30 % of area, or of its default where that is less; waived with one tensor or one vector core");
  for (const auto& [key, range] : {std::pair<std::string_view, const std::vector<int>&>{"tensor_cores", s.tensor_cores},
                                   {"vector_cores", s.vector_cores},
                                   {"width", s.width},
                                   {"depth", s.depth},
                                   {"buffer_MiB", s.buffer_MiB}})
    check_range(r, key, range);
  if (s.hbm_stacks.empty()) r.error("hbm_stacks", "at least one number is needed");
  for (const int n : s.hbm_stacks)
    if (n < 0 || n > kMostStacks) r.error("hbm_stacks", fmt::format("expected 0 to {}, found {}", kMostStacks, n));
  if (s.area && s.smallest_area && *s.smallest_area > *s.area)
    r.error("smallest_area", fmt::format("{} mm2 is above area, {} mm2", s.smallest_area->value(), s.area->value()));
}

void describe(Reader& r, ChipSection& s) {
  r.optional("name", s.name, "of a known chip (" + fmt::format("{}", fmt::join(chip_names(), ", ")) + "); or:");
  r.optional("tensor_cores", s.tensor_cores, "systolic arrays");
  r.optional("vector_cores", s.vector_cores, "of `width` lanes");
  r.optional("width", s.width, "rows of an array");
  r.optional("depth", s.depth, "columns of an array");
  r.optional("buffer", s.buffer, "global buffer");
  r.optional("hbm_stacks", s.hbm_stacks, "300 GB/s each; 0: the original's fixed 268.8 GB/s");
  const std::vector<std::string> names = chip_names();
  if (s.name && std::ranges::find(names, *s.name) == names.end())
    r.error("name", fmt::format("unknown chip '{}'{}; there are {}", *s.name, did_you_mean(*s.name, names),
                                fmt::join(names, ", ")));
  if (s.name && (r.has("tensor_cores") || r.has("vector_cores") || r.has("width") || r.has("depth") || r.has("buffer")))
    r.error("name", "gives cores, sizes and buffer already; leave out either it or them");
  within(r, "tensor_cores", s.tensor_cores, 1, kMostCores);
  within(r, "vector_cores", s.vector_cores, 1, kMostCores);
  within(r, "width", s.width, 1, kWidestCore);
  within(r, "depth", s.depth, 1, kWidestCore);
  if (r.has("buffer") && (s.buffer < Bytes(1048576) || s.buffer > kMostMemory))
    r.error("buffer", "must be between 1 MiB and 1 PiB");
  within(r, "hbm_stacks", s.hbm_stacks, 0, kMostStacks);
}

void describe(Reader& r, PlanSection& s) {
  r.optional("stages", s.stages, "of the pipeline");
  r.optional("width", s.width, "tensor parallelism");
  r.optional("replicas", s.replicas, "data parallelism");
  for (const auto& [key, value] : {std::pair<std::string_view, int>{"stages", s.stages}, {"replicas", s.replicas}})
    at_least(r, key, value, 1);
  check_width(r, "width", s.width);
}

void describe(Reader& r, SearchScenario& s) {
  r.required("name", s.name, "of the search; names the folder of its results");
  r.optional("seed", s.seed, "of every random choice");
  r.optional("search", s.search, "what is searched: chips, placements, or both together");
  r.optional("mode", s.mode,
             "corrected, or as the original computes: phaze as released, phaze-fork with one unit of time");
  r.optional("objective", s.objective, "samples/s, or these per mm2, per watt, per USD of a device");
  r.optional("combine", s.combine, "of several workloads, each relative to the TPUv4-like chip");
  r.required("workloads", s.workloads, "one or more");
  r.required("system", s.system, "around the chip");
  r.optional("space", s.space, "of chips");
  r.optional("chip", s.chip, "search: placement");
  r.optional("plan", s.plan, "search: chip");
  r.optional("expert", s.expert, "a plan to compare with, on the TPUv4-like chip");
  r.optional("power", s.power, "limit of a device's mean power over a step");
  r.optional("price", s.price, "limit of a device's price");
  r.optional("top", s.top, "chips to report, each placed again with every kind of plan");
  r.optional("solver", s.solver,
             "cbc, glpk: the best chip's operator schedules are checked by an integer linear programme");
  r.optional("solver_limit", s.solver_limit, "of the programme, for one pass of one layer");
  if (r.has("solver_limit") && s.solver_limit <= Seconds()) r.error("solver_limit", "must be positive");
  const auto fine = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  if (r.has("name") && (s.name.empty() || s.name.size() > 100 || !std::ranges::all_of(s.name, fine)))
    r.error("name", fmt::format("'{}' names a folder: use up to 100 letters, digits, - and _", s.name));
  if (s.top < 1 || s.top > 100) r.error("top", fmt::format("expected 1 to 100, found {}", s.top));
  if (r.has("workloads") && r.ok() && s.workloads.empty()) r.error("workloads", "at least one is needed");
  if (r.printing() || !r.ok()) return;
  check_parts(r, s);
  check_space(r, s);
}

std::string search_reference() {
  std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const ReferenceRow& row : reference<SearchScenario>())
    fmt::format_to(std::back_inserter(text), "| `{}` | {}{} | {} | {} |\n", row.path, row.type,
                   row.unit.empty() ? "" : ", " + row.unit, row.required ? "**required**" : row.default_text,
                   row.meaning);
  return text;
}

}  // namespace tessera
