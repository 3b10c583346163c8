#include "sim/app/validation/model_rows.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/report/error_bar.hpp"

namespace tessera {
namespace {

std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

Mode read_mode(RowReader& row) {
  const std::string_view mode = row.need("mode");
  if (mode == "train") return Mode::training;
  if (mode != "inf" && !mode.empty()) row.mistake("mode", fmt::format("expected inf or train, found '{}'", mode));
  return Mode::inference;
}

Dtype read_model_dtype(RowReader& row) {
  const std::string_view name = row.need("dtype");
  const std::optional<Dtype> dtype = parse_dtype(name);
  if (!dtype && !name.empty()) row.mistake("dtype", fmt::format("unknown dtype '{}'", name));
  return dtype.value_or(Dtype::fp32);
}

AttentionKind read_attention_kind(RowReader& row, Dtype dtype) {
  const std::string_view kind = row.text("attention");
  if (kind == "flash") return AttentionKind::flash;
  if (kind == "eager") return AttentionKind::eager;
  if (!kind.empty()) row.mistake("attention", fmt::format("expected eager or flash, found '{}'", kind));
  return dtype == Dtype::fp16 || dtype == Dtype::bf16 ? AttentionKind::flash : AttentionKind::eager;
}

bool read_eager(RowReader& row) {
  const std::string_view timing = row.text("timing");
  if (!timing.empty() && timing != "graph" && timing != "eager") {
    row.mistake("timing", fmt::format("expected graph or eager, found '{}'", timing));
  }
  return timing == "eager";
}

/// Empty: cold where a training step was timed eagerly (the public data set of such rows, NeuSight's, empties PyTorch's
/// allocator before every iteration), warm otherwise.
bool read_cold_allocator(RowReader& row, bool eager_training) {
  const std::string_view state = row.text("allocator");
  if (state.empty()) return eager_training;
  if (state != "warm" && state != "cold")
    row.mistake("allocator", fmt::format("expected warm or cold, found '{}'", state));
  return state == "cold";
}

Parallelism read_parallelism(RowReader& row) {
  const std::string_view text = row.text("parallelism");
  const std::optional<Parallelism> found = parse_parallelism(text.empty() ? "none" : text);
  if (!found) row.mistake("parallelism", fmt::format("expected none, dpN, tpN or ppN_M, found '{}'", text));
  return found.value_or(Parallelism{});
}

/// The platform's GPUs, or one GPU in a plain host.
void read_hardware(RowReader& row, Catalogue& catalogue, std::int64_t gpus, RunSpec& spec) {
  if (row.text("platform").empty()) {
    if (const GpuSpec* gpu = catalogue.gpu(row)) spec.cluster = single_gpu(gpu->name);
    if (gpus > 1) row.mistake("platform", fmt::format("expected a platform for {} GPUs, found nothing", gpus));
    return;
  }
  const ClusterSpec* platform = catalogue.platform(row);
  if (platform == nullptr) return;
  spec.cluster = *platform;
  const std::string_view gpu = row.text("gpu");
  if (!gpu.empty() && normalise(gpu) != normalise(platform->gpu.name)) {
    row.mistake("platform", fmt::format("{} has {} GPUs, the row says {}", platform->name, platform->gpu.name, gpu));
  }
  if (gpus > platform->gpus()) {
    row.mistake("n_gpu", fmt::format("{} has {} GPUs, the row wants {}", platform->name, platform->gpus(), gpus));
  }
}

/// Batches are global: data parallelism divides them.
void read_split(RowReader& row, const Parallelism& parallelism, std::int64_t gpus, ModelRow& result) {
  const std::int64_t world = std::int64_t{parallelism.dp} * parallelism.tp * parallelism.stages;
  if (world != gpus) {
    row.mistake("n_gpu", fmt::format("{} uses {} GPUs, n_gpu is {}", row.text("parallelism"), world, gpus));
  }
  RunSpec& spec = result.spec;
  spec.parallel.dp = parallelism.dp;
  spec.parallel.tp = parallelism.tp;
  spec.parallel.pp = parallelism.stages;
  spec.parallel.micro_batches = parallelism.micro_batches;
  const std::int64_t batch = row.need_integer("batch");
  const std::int64_t parts = std::int64_t{parallelism.dp} * parallelism.micro_batches;
  spec.build.batch = batch / parts;
  if (batch < 1 || batch % parts != 0) {
    row.mistake("batch", fmt::format("expected a multiple of {} ({}), found {}", parts,
                                     parallelism.stages > 1 ? "micro-batches" : "dp", batch));
  }
  if (spec.build.mode == Mode::training && element_size(spec.build.dtype) < Bytes(2))
    result.unsupported = fmt::format("training in {} is not supported", to_string(spec.build.dtype));
}

/// By the weights alone: the rest of the footprint is an estimate, and a measured row is not refused by one.
bool fits(const RunSpec& spec) {
  const Graph graph = build_graph(spec.model, spec.build);
  return memory_footprint(spec.model, spec.build, graph, spec.parallel).components.front().size <=
         spec.cluster.gpu.memory;
}

Seconds forward_end(const RunResult& result) {
  Seconds end;
  for (const Span& span : result.trace.spans) {
    if (span.task < result.plan.tasks.size() && result.plan.tasks[span.task].phase == Phase::forward) {
      end = max(end, span.end);
    }
  }
  return end;
}

/// A part's bar is that of its own kernels, by the rule of the whole step; the simulated time of other things (idling,
/// waiting) is shared out like its compute.
Estimate<Seconds> estimate_of(const RunResult& result, const GpuSpec& gpu, MeasuredPart part) {
  if (part == MeasuredPart::whole) return result.summary.step_time;
  const bool forward = part == MeasuredPart::forward;
  const Seconds end = forward_end(result), lasted = forward ? end : result.trace.makespan - end;
  const KernelErrors errors = kernel_errors(
      result.plan, result.costs, gpu, [&](const Task& task) { return (task.phase == Phase::forward) == forward; });
  const double share = lasted / result.trace.makespan;
  return step_error_bar(lasted, errors, min(errors.total, lasted), share * result.summary.exposed_communication);
}

void set_launch(const Profile& profile, ClusterSpec& cluster) {
  if (cluster.gpu.name == profile.gpu) cluster.node.host_launch = profile.launch_time(cluster.node.host_launch);
}

}  // namespace

std::optional<Parallelism> parse_parallelism(std::string_view text) {
  Parallelism result;
  if (text == "none") return result;
  if (text.size() < 3) return std::nullopt;
  const std::string_view kind = text.substr(0, 2);
  if (kind == "pp") {
    const std::size_t bar = text.find('_');
    if (bar == std::string_view::npos) return std::nullopt;
    const auto stages = parse_count(text.substr(2, bar - 2)), micro_batches = parse_count(text.substr(bar + 1));
    if (!stages || !micro_batches) return std::nullopt;
    result.stages = *stages;
    result.micro_batches = *micro_batches;
    return result;
  }
  const auto ranks = parse_count(text.substr(2));
  if (!ranks || (kind != "dp" && kind != "tp")) return std::nullopt;
  (kind == "dp" ? result.dp : result.tp) = *ranks;
  return result;
}

ModelRow read_model_row(RowReader& row, Catalogue& catalogue) {
  ModelRow result;
  RunSpec& spec = result.spec;
  spec.scenario = "validate";
  spec.check_memory = false;
  if (const ModelConfig* model = catalogue.model(row)) spec.model = *model;
  spec.build.mode = read_mode(row);
  const std::int64_t fixed = spec.model.fixed_sequence;  // of images: nobody has to say
  spec.build.sequence = fixed > 0 ? row.integer("seq", fixed) : row.need_count("seq");
  spec.build.dtype = read_model_dtype(row);
  spec.build.attention = read_attention_kind(row, spec.build.dtype);
  spec.build.fused = row.flag("fused");
  spec.simulation.cuda_graph = !read_eager(row);
  spec.cold_allocator = read_cold_allocator(row, spec.build.mode == Mode::training && !spec.simulation.cuda_graph);
  const std::int64_t gpus = row.integer("n_gpu", 1);
  read_hardware(row, catalogue, gpus, spec);
  read_split(row, read_parallelism(row), gpus, result);
  return result;
}

Outcome predict_model_row(const ModelRow& row, MeasuredPart part, const LatencyModel& model) {
  if (!row.unsupported.empty()) return {.prediction = std::nullopt, .unsupported = row.unsupported};
  try {
    if (!fits(row.spec))
      return {.prediction = std::nullopt, .unsupported = "does not fit on " + row.spec.cluster.gpu.name};
    const RunResult result = run(row.spec, model);
    return {.prediction = Prediction{estimate_of(result, row.spec.cluster.gpu, part), result.summary.provenance},
            .unsupported = {}};
  } catch (const RunError& error) {
    return {.prediction = std::nullopt, .unsupported = error.what()};
  }
}

std::vector<Outcome> predict_model_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                        const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                        const LatencyModel& model, const CollectiveParameters& collectives,
                                        MeasuredPart part, Mistakes& mistakes, const std::function<void()>& progress,
                                        std::span<const Profile> profiles) {
  const std::size_t before = mistakes.count();
  std::vector<ModelRow> runs;
  runs.reserve(rows.size());
  for (const std::size_t row : rows) {
    RowReader reader(table, row, defaults, mistakes);
    runs.push_back(read_model_row(reader, catalogue));
    for (const Profile& profile : profiles) set_launch(profile, runs.back().spec.cluster);
  }
  std::vector<Outcome> outcomes(rows.size());
  if (mistakes.count() != before) return outcomes;
  for (ModelRow& run : runs) run.spec.simulation.collectives = collectives;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    try {
      outcomes[i] = predict_model_row(runs[i], part, model);
    } catch (const InputError& wrong) {
      for (const Diagnostic& d : wrong.diagnostics())
        mistakes.add(d.line > 0 ? d : table.at(rows[i], table.need("model"), d.message));
    }
    progress();
  }
  return outcomes;
}

}  // namespace tessera
