#include "sim/app/validation/training_rows.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

/// CPU time between launches of Python modules run eagerly: the median over the forward thread of a public Kineto trace
/// of ResNet training (facebookresearch/param, et_replay/tests/inputs/resnet_kineto.json.gz, 4,288 launches), the
/// shortest of three such traces (40, 77 and 118 us); the profiler is in it. Compiled modules launch as their platform
/// says.
constexpr Seconds kPythonLaunch(40e-6);

constexpr auto kCore = AttentionKind::fused_softmax;
constexpr auto kSelective = Recompute::selective;
/// By the frameworks' sources and recipes; the first row is what an unknown one gets.
constexpr std::array kHabits{
    FrameworkHabits{"", AttentionKind::eager, 0, true, true, true, false, false, false, std::nullopt, kSelective,
                    FlashGeneration::second},
    FrameworkHabits{"megatron-core", kCore, 0.1, true, true, true, false, false, true, Dtype::fp32, kSelective,
                    FlashGeneration::second, 40e6},
    FrameworkHabits{"megatron-deepspeed", kCore, 0.1, true, true, false, false, false, true, std::nullopt, kSelective,
                    FlashGeneration::first},
    FrameworkHabits{"megatron-lm-2021", kCore, 0.1, true, true, false, false, true, true, Dtype::fp32, kSelective,
                    FlashGeneration::first},
    FrameworkHabits{"pytorch-fsdp", AttentionKind::eager, 0, false, false, true, true, false, false, std::nullopt,
                    kSelective, FlashGeneration::first},
    FrameworkHabits{"torchtitan", AttentionKind::eager, 0, false, false, true, true, false, false, Dtype::fp32,
                    Recompute::operators, FlashGeneration::second, 0, true, true},
};

template <class T>
struct Choice {
  std::string_view name;
  T value;
};
constexpr std::array kShardings{Choice{"none", Sharding::none}, Choice{"zero1", Sharding::zero1},
                                Choice{"zero2", Sharding::zero2}, Choice{"zero3", Sharding::zero3},
                                Choice{"fsdp", Sharding::zero3}};
constexpr std::array kRecomputes{Choice{"none", Recompute::none}, Choice{"selective", Recompute::selective},
                                 Choice{"full", Recompute::full}};
constexpr std::array kRowScales{Choice{"tensorwise", false}, Choice{"rowwise", true}};
constexpr std::array kAttentions{Choice{"eager", AttentionKind::eager}, Choice{"flash", AttentionKind::flash}};

template <class Choices>
auto choose(RowReader& row, std::string_view column, const Choices& choices) {
  const std::string_view text = row.text(column);
  std::vector<std::string_view> names;
  for (const auto& choice : choices) {
    if (choice.name == text || text.empty()) return choice.value;
    names.push_back(choice.name);
  }
  row.mistake(column, fmt::format("expected {}, found '{}'", fmt::join(names, ", "), text));
  return choices.front().value;
}

enum class Family : std::uint8_t { gpt, llama, mixed };
constexpr std::array kFamilies{Choice{"gpt", Family::gpt}, Choice{"llama", Family::llama},
                               Choice{"mixed", Family::mixed}};

void make_llama(ModelConfig& m) {
  m.architecture = "llama";
  m.norm = Norm::rmsnorm;
  m.activation = Activation::silu;
  m.gated_ffn = true;
  m.rotary_ratio = 1;
}

void make_gpt(ModelConfig& m, const FrameworkHabits& habits, std::int64_t sequence) {
  m.architecture = "gpt2";
  m.activation = Activation::gelu;
  m.tied_embeddings = true;
  m.dropout = m.attention_dropout = habits.dropout;
  m.attention_bias = m.qkv_bias = m.ffn_bias = habits.biases;
  m.positions = habits.positions ? sequence : 0;
}

/// Families differ by their feed-forward block: 4 x hidden wide and plain, or gated and of another width.
ModelConfig model_of_shape(RowReader& row, const FrameworkHabits& habits, std::int64_t sequence) {
  ModelConfig m;
  m.name = row.text("model");
  m.layers = row.need_count("n_layers");
  m.hidden = row.need_count("hidden");
  m.ffn = row.integer("ffn", 4 * m.hidden);
  m.heads = row.need_count("heads");
  m.kv_heads = row.integer("kv_heads", m.heads);
  m.vocab = row.need_count("vocab");
  m.head_dim = m.hidden / m.heads;
  if (m.hidden % m.heads != 0)
    row.mistake("hidden", fmt::format("expected a multiple of {} (heads), found {}", m.heads, m.hidden));
  if (m.kv_heads < 1 || m.heads % m.kv_heads != 0)
    row.mistake("kv_heads", fmt::format("expected a divisor of {} (heads), found {}", m.heads, m.kv_heads));
  const Family family = choose(row, "family", kFamilies);
  const bool llama = family == Family::llama || (family == Family::mixed && m.ffn != 4 * m.hidden);
  if (llama)
    make_llama(m);
  else
    make_gpt(m, habits, sequence);
  return m;
}

Dtype read_precision(RowReader& row, BuildOptions& build) {
  const std::string_view name = row.need("precision");
  const std::optional<Dtype> dtype = parse_dtype(name);
  if (!dtype && !name.empty()) row.mistake("precision", fmt::format("unknown dtype '{}'", name));
  const bool row_scales = choose(row, "fp8_recipe", kRowScales);
  if (!dtype || element_size(*dtype) >= Bytes(2)) return dtype.value_or(Dtype::bf16);
  build.products = dtype;  // the rest of the model stays in 16 bits
  build.row_scales = row_scales;
  return Dtype::bf16;
}

void read_hardware(RowReader& row, Catalogue& catalogue, RunSpec& spec) {
  const ClusterSpec* platform = catalogue.platform(row);
  const std::int64_t gpus = row.need_count("n_gpus");
  if (platform == nullptr || gpus < 1) return;
  spec.cluster = *platform;
  if (gpus <= platform->gpus()) return;
  const auto nodes = static_cast<int>((gpus + platform->node.gpus - 1) / platform->node.gpus);
  try {
    spec.cluster = find_cluster(row.text("platform"), nodes);
  } catch (const InputError& error) {
    row.mistake("n_gpus", error.diagnostics().front().message);
  }
}

void read_degrees(RowReader& row, const FrameworkHabits& habits, ParallelSpec& parallel) {
  const auto degree = [&](std::string_view column) { return static_cast<int>(row.integer(column, 1)); };
  parallel.tp = degree("tp"), parallel.pp = degree("pp"), parallel.cp = degree("cp"), parallel.ep = degree("ep");
  const std::int64_t gpus = row.need_count("n_gpus");
  const int model = parallel.tp * parallel.pp * parallel.cp;
  if (model < 1 || gpus % model != 0) {
    row.mistake("n_gpus", fmt::format("tp {} x cp {} x pp {} does not divide {} GPUs", parallel.tp, parallel.cp,
                                      parallel.pp, gpus));
    return;
  }
  parallel.dp = static_cast<int>(gpus / model);
  parallel.sequence_parallel = row.flag("seq_parallel") && parallel.tp > 1;
  parallel.sharding = choose(row, "sharding", kShardings);
  parallel.asynchronous_tp = row.flag("async_tp");
  parallel.overlap = habits.overlap;
  parallel.scattered_messages = habits.scattered_messages;
  parallel.tp_waits = habits.tp_waits && parallel.tp > 1;
  parallel.reduced_as = habits.reduced_as;
  // Megatron-LM's DistributedDataParallel: max(40 M, 1 M x replicas) elements.
  if (habits.bucket_elements > 0)
    parallel.bucket =
        std::max(habits.bucket_elements, 1e6 * parallel.dp) * element_size(parallel.reduced_as.value_or(Dtype::bf16));
}

/// Micro-batches that a row leaves open: the framework's default in a pipeline (torchtitan: as many micro-batches as
/// stages), else powers of two, the largest that anybody would try.
std::vector<std::int64_t> micro_batch_sizes(RowReader& row, const FrameworkHabits& habits, std::int64_t per_replica,
                                            int pp) {
  constexpr std::int64_t kLargest = 8;
  if (!row.text("mbs").empty()) return {row.integer("mbs", 1)};
  if (habits.micro_batch_per_stage && pp > 1 && per_replica % pp == 0) return {per_replica / pp};
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= kLargest && per_replica % size == 0; size *= 2) sizes.push_back(size);
  return sizes;
}

std::vector<int> chunk_counts(RowReader& row, std::int64_t layers, int pp) {
  if (!row.text("vpp").empty()) return {static_cast<int>(row.integer("vpp", 1))};
  std::vector<int> counts{1};
  const std::int64_t per_stage = layers / pp;
  // Uneven stages in two chunks at most.
  for (int chunks = 2; pp > 1 && chunks <= per_stage; ++chunks)
    if (layers % (std::int64_t{pp} * chunks) == 0 || chunks == 2) counts.push_back(chunks);
  return counts;
}

std::vector<Recompute> recomputations(RowReader& row, const FrameworkHabits& habits) {
  if (row.text("recompute").empty()) return {Recompute::none, Recompute::selective, Recompute::full};
  const Recompute given = choose(row, "recompute", kRecomputes);
  return {given == Recompute::selective ? habits.selective : given};
}

void add_runs(RowReader& row, const FrameworkHabits& habits, const RunSpec& base, TrainingRow& result) {
  const std::int64_t batch = row.need_integer("gbs");
  const int dp = base.parallel.dp;
  if (batch < 1 || batch % dp != 0) return row.mistake("gbs", fmt::format("expected a multiple of dp {}", dp));
  const auto sizes = micro_batch_sizes(row, habits, batch / dp, base.parallel.pp);
  const auto chunks = chunk_counts(row, base.model.layers, base.parallel.pp);
  const auto recomputed = recomputations(row, habits);
  const bool open = sizes.size() * chunks.size() * recomputed.size() > 1;
  for (const std::int64_t size : sizes) {
    if (size < 1 || (batch / dp) % size != 0)
      return row.mistake("mbs", fmt::format("{} does not divide the {} samples of a replica", size, batch / dp));
    for (const int count : chunks) {
      for (const Recompute recompute : recomputed) {
        RunSpec spec = base;
        spec.build.batch = size;
        spec.parallel.micro_batches = batch / dp / size;
        if (count > 1 && spec.parallel.micro_batches % spec.parallel.pp != 0) continue;
        spec.build.accumulate = spec.parallel.micro_batches > 1 && !habits.sharded_accumulation;
        spec.parallel.chunks = count;
        spec.parallel.recompute = recompute;
        spec.simulation.synchronous_messages = habits.synchronous_messages && count == 1;
        spec.check_memory = open;
        result.runs.push_back(std::move(spec));
      }
    }
  }
}

}  // namespace

const FrameworkHabits& habits_of(std::string_view framework) {
  const auto found = std::ranges::find(kHabits, framework, &FrameworkHabits::name);
  return found == kHabits.end() ? kHabits.front() : *found;
}

namespace {

const FrameworkHabits& read_habits(RowReader& row) {
  const std::string_view name = row.text("framework");
  const FrameworkHabits& habits = habits_of(name);
  if (habits.name == name) return habits;
  std::vector<std::string> known;
  for (const FrameworkHabits& other : kHabits)
    if (!other.name.empty()) known.emplace_back(other.name);
  row.mistake("framework", fmt::format("unknown framework '{}'{}; there are {}, or none for the common ones", name,
                                       did_you_mean(name, known), fmt::join(known, ", ")));
  return habits;
}

}  // namespace

TrainingRow read_training_row(RowReader& row, Catalogue& catalogue) {
  const FrameworkHabits& habits = read_habits(row);
  RunSpec spec;
  spec.scenario = "validate";
  spec.context.runtime = Runtime::pytorch;
  spec.build.mode = Mode::training;
  spec.build.optimizer = OptimizerKind::adam;
  spec.build.sequence = row.need_count("seq_len");
  if (!row.text("hidden").empty())
    spec.model = model_of_shape(row, habits, spec.build.sequence);
  else if (const ModelConfig* model = catalogue.model(row))
    spec.model = *model;
  spec.build.dtype = read_precision(row, spec.build);
  const AttentionKind attention = choose(row, "attention", kAttentions);
  spec.build.attention = attention == AttentionKind::eager ? habits.eager : attention;
  spec.build.fused = row.flag("compile");
  spec.flash = habits.flash;
  read_hardware(row, catalogue, spec);
  if (!spec.build.fused) spec.cluster.node.host_launch = max(spec.cluster.node.host_launch, kPythonLaunch);
  read_degrees(row, habits, spec.parallel);
  spec.build.context = spec.parallel.cp;
  TrainingRow result;
  add_runs(row, habits, spec, result);
  return result;
}

Outcome predict_training_row(const TrainingRow& row, const LatencyModel& model) {
  Outcome best{.prediction = std::nullopt, .unsupported = row.unsupported};
  for (const RunSpec& spec : row.runs) {
    try {
      const RunResult result = run(spec, model);
      const Prediction prediction{result.summary.step_time, result.summary.provenance};
      if (!best.prediction || prediction.time.p50 < best.prediction->time.p50) best = {prediction, {}};
    } catch (const RunError& error) {
      if (best.prediction) continue;
      const std::string why = error.what();
      best.unsupported = why.substr(0, why.find('\n'));
    } catch (const InputError& error) {
      if (!best.prediction) best.unsupported = error.diagnostics().front().message;
    }
  }
  return best;
}

std::vector<Outcome> predict_training_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                           const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                           const LatencyModel& model, const CollectiveParameters& collectives,
                                           Mistakes& mistakes, const std::function<void()>& progress,
                                           std::span<const Profile> profiles, std::optional<Seconds> host_launch) {
  const std::size_t before = mistakes.count();
  std::vector<TrainingRow> read;
  read.reserve(rows.size());
  for (const std::size_t row : rows) {
    RowReader reader(table, row, defaults, mistakes);
    read.push_back(read_training_row(reader, catalogue));
    for (RunSpec& spec : read.back().runs) {
      Seconds& launch = spec.cluster.node.host_launch;
      for (const Profile& profile : profiles)
        if (profile.gpu == spec.cluster.gpu.name) launch = profile.launch_time(launch);
      launch = host_launch.value_or(launch);
      spec.simulation.collectives = collectives;
    }
  }
  std::vector<Outcome> outcomes(rows.size());
  if (mistakes.count() != before) return outcomes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    outcomes[i] = predict_training_row(read[i], model);
    progress();
  }
  return outcomes;
}

}  // namespace tessera
