// What a scenario may say and what is wrong with one: the only place that knows its keys and defaults.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "sim/app/profiles.hpp"
#include "sim/app/scenario.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/dispatch/policy.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/rank_operators.hpp"
#include "sim/place/policy.hpp"
#include "sim/serve/policy.hpp"

namespace tessera {

static constexpr std::array<std::string_view, 2> enum_names(Mode) {
  return {"inference", "training"};
}
static constexpr std::array<std::string_view, 3> enum_names(AttentionKind) {
  return {"eager", "flash", "fused_softmax"};
}
static constexpr std::array<std::string_view, 2> enum_names(OptimizerKind) {
  return {"none", "adam"};
}
static constexpr std::array<std::string_view, 4> enum_names(Recompute) {
  return {"none", "selective", "operators", "full"};
}
static constexpr std::array<std::string_view, 3> enum_names(PipelineSchedule) {
  return {"gpipe", "1f1b", "zero_bubble"};
}
static constexpr std::array<std::string_view, 4> enum_names(Sharding) {
  return {"none", "zero1", "zero2", "zero3"};
}
static constexpr std::array<std::string_view, 3> enum_names(Fidelity) {
  return {"auto", "kernel", "wave"};
}
static constexpr std::array<std::string_view, 2> enum_names(Fold) {
  return {"off", "on"};
}

static constexpr std::array<std::string_view, 2> enum_names(AllocatorState) {
  return {"warm", "cold"};
}

namespace {

/// Of a link that is payload: less is a slip, and makes flows of more bytes than the event loop counts.
constexpr double kLeastPayload = 0.001;

/// Reports the mistakes that looking something up brings to light, at `key`. True if there were none.
bool look_up(Reader& r, std::string_view key, const std::function<void()>& what) {
  try {
    what();
    return true;
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) {
      const std::string at = d.file.empty() || d.line == 0 ? d.file : fmt::format("{}:{}:{}", d.file, d.line, d.column);
      r.error(key, at.empty() ? d.message : fmt::format("{}: {}", at, d.message));
    }
    return false;
  }
}

constexpr std::size_t kLongestName = 100;
// Far above any use; below what overflows a product or fills the memory with requests.
constexpr std::int64_t kMostSamples = 1 << 20, kMostSamplesPerStep = 1 << 24, kLongestSequence = 1 << 24;

/// Names become folders and are used in --set. Called right after reading the name, the first key.
void check_name(Reader& r, const std::string& name) {
  const auto fine = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  if (name.size() > kLongestName)
    r.error("name", fmt::format("{} characters; a folder's name has at most {}", name.size(), kLongestName));
  if (r.has("name") && r.ok() && (name.empty() || !std::ranges::all_of(name, fine)))
    r.error("name", fmt::format("'{}' names a folder: use letters, digits, - and _", name));
}

template <class T>
void check_positive(Reader& r, std::string_view key, const std::optional<T>& value) {
  if (value && *value <= 0) r.error(key, fmt::format("must be positive, found {}", *value));
}

void check_count(Reader& r, std::string_view key, const std::optional<std::int64_t>& value, std::int64_t most) {
  check_positive(r, key, value);
  if (value && *value > most) r.error(key, fmt::format("must be at most {}, found {}", most, *value));
}

/// Batches have other names in training and inference, so that a reader knows what is meant.
void check_batches(Reader& r, const WorkloadSection& s) {
  const bool training = s.mode == Mode::training;
  const auto need = [&](std::string_view key, bool given, bool wanted) {
    if (wanted && !given)
      r.error("", fmt::format("missing key '{}', which mode {} needs", key, enum_names(s.mode)[training]));
    if (!wanted && given)
      r.error(key, fmt::format("mode {} takes {}", enum_names(s.mode)[training],
                               training ? "global_batch and micro_batch" : "batch"));
  };
  need("batch", s.batch.has_value(), !training);
  need("global_batch", s.global_batch.has_value(), training);
  need("micro_batch", s.micro_batch.has_value(), training);
  if (!training && s.optimizer.value_or(OptimizerKind::none) != OptimizerKind::none)
    r.error("optimizer", "mode inference has no optimizer");
}

void check_world(Reader& r, const RunSection& s, const ClusterSpec& cluster) {
  const int used = s.gpus.value_or(cluster.gpus());
  const int tp = s.parallel.tp, pp = s.parallel.pp, cp = s.parallel.cp;
  const std::string_view at = r.has("parallel") ? "parallel" : "";
  if (used > cluster.gpus())
    return r.error("gpus", fmt::format("{} GPUs are asked for, {} has {}", used, cluster.name, cluster.gpus()));
  if (make_placement_policy(s.placement)->chooses()) return;
  const std::string stages = (cp > 1 ? fmt::format(" x cp {}", cp) : "") + (pp > 1 ? fmt::format(" x pp {}", pp) : "");
  if (!s.parallel.dp && used % (std::int64_t{tp} * cp * pp) != 0)
    return r.error(at, fmt::format("tp {}{} does not divide the {} GPUs", tp, stages, used));
  if (const std::int64_t world = std::int64_t{tp} * cp * pp * stated_replicas(s, used); world != used)
    r.error(at, fmt::format("tp {} x dp {}{} = {} GPUs, but {} are used{}", tp, stated_replicas(s, used), stages, world,
                            used, s.gpus || world > used ? "" : fmt::format(" (gpus: {} uses a part)", world)));
}

void check_batch_split(Reader& r, const RunSection& s, std::int64_t dp) {
  const WorkloadSection& w = s.workload;
  if (w.mode == Mode::inference) {
    if (*w.batch % dp != 0) r.error("workload", fmt::format("batch {} is not a multiple of dp {}", *w.batch, dp));
  } else if (*w.global_batch % (dp * *w.micro_batch) != 0) {
    r.error("workload", fmt::format("global_batch {} is not a multiple of dp {} x micro_batch {}", *w.global_batch, dp,
                                    *w.micro_batch));
  }
}

void check_stages(Reader& r, const ParallelSection& s, const ModelConfig& model) {
  if (s.pp * s.chunks == 1 && s.stage_layers.empty()) return;
  if (s.pp == 1 && s.chunks > 1)
    return r.error("parallel",
                   fmt::format("chunks {}: pp is 1, and only a pipeline of 2 GPUs or more interleaves", s.chunks));
  if (model.decoder_layers > 0)
    return r.error("parallel", fmt::format("{}: pipelines of encoder-decoder models are not modelled", model.name));
  try {
    stage_of_layers(static_cast<int>(model.layers), s.pp * s.chunks, s.stage_layers);
  } catch (const RunError& error) {
    r.error("parallel", fmt::format("{}: {}", model.name, error.what()));
  }
}

void check_model_split(Reader& r, const RunSection& s, const ModelConfig& model) {
  check_stages(r, s.parallel, model);
  const int tp = s.parallel.tp;
  const auto divides = [&](std::string_view what, std::int64_t count) {
    if (count % tp != 0)
      r.error("parallel", fmt::format("tp {} does not divide the {} {} of {}", tp, count, what, model.name));
  };
  if (!model.network.empty() && tp > 1)
    r.error("parallel", fmt::format("tp {}: {} is not divided over GPUs; use dp", tp, model.name));
  divides("heads", model.heads);
  if (model.kv_heads != model.heads) divides("kv_heads", model.kv_heads);
  if (model.positions > 0 && s.workload.sequence > model.positions)
    r.error("workload", fmt::format("sequence {} is longer than the {} positions that {} has learned",
                                    s.workload.sequence, model.positions, model.name));
}

void check_dtype(Reader& r, Dtype dtype, const GpuSpec& gpu, std::string_view key) {
  if (gpu.peak_of(dtype) > FlopsPerSec()) return;
  std::vector<std::string_view> there;
  for (const Dtype other : kDtypes)
    if (gpu.peak_of(other) > FlopsPerSec()) there.push_back(to_string(other));
  r.error(key, fmt::format("{} has no {}; it has {}", gpu.name, to_string(dtype), fmt::join(there, ", ")));
}

void check_plan_size(Reader& r, const RunSection& s) {
  const RunSpec spec = resolve({}, s);
  const auto kernels = build_graph(spec.model, spec.build).operators.size();
  if (static_cast<double>(kernels) * static_cast<double>(spec.parallel.micro_batches) > kMostTasks)
    r.error("workload",
            fmt::format("global_batch {} makes {} micro-batches of {} kernels; a plan has at most {:.0f} of "
                        "them: lower global_batch or raise micro_batch",
                        s.workload.global_batch.value_or(0), spec.parallel.micro_batches, kernels, kMostTasks));
}

/// The times are of this very model, micro-batch and width.
void check_sections(Reader& r, const RunSection& s) {
  const SectionTimes times = read_section_times(*s.section_times);
  const WorkloadSection& w = s.workload;
  if (normalise(times.model) != normalise(find_model(w.model).name))
    r.error("section_times", fmt::format("times of {}, the model is {}", times.model, find_model(w.model).name));
  const auto same = [&](std::string_view what, std::int64_t theirs, std::int64_t ours) {
    if (theirs != ours) r.error("section_times", fmt::format("times at {} {}, the run has {}", what, theirs, ours));
  };
  same("sequence", times.sequence, w.sequence);
  same("micro_batch", times.micro_batch, w.micro_batch.value_or(times.micro_batch));
  same("tp", times.tp, s.parallel.tp);
}

/// What only the plan knows: experts, parts of a sequence, micro-batches of an interleaved pipeline.
void check_plan(Reader& r, const RunSection& s) {
  look_up(r, "parallel", [&] {
    const RunSpec spec = resolve({}, s);
    try {
      const Graph graph = build_graph(spec.model, spec.build);
      const RankOperators parts(graph, spec.parallel);
      (void)pass_order(spec.parallel, 0);
    } catch (const RunError& error) {
      throw InputError(Diagnostic{.message = error.what()});
    }
  });
}

/// Checks that need several fields; only for a section whose fields are each right.
void check_together(Reader& r, const RunSection& s) {
  const ClusterSpec cluster = platform_of(s);
  check_model_split(r, s, find_model(s.workload.model));
  check_dtype(r, s.workload.dtype, cluster.gpu, "workload");
  check_world(r, s, cluster);
  if (r.ok()) check_batch_split(r, s, stated_replicas(s, s.gpus.value_or(cluster.gpus())));
  if (r.ok() && !make_placement_policy(s.placement)->chooses()) {
    check_plan_size(r, s);
    if (r.ok()) check_plan(r, s);
  }
}

}  // namespace

void describe(Reader& r, WorkloadSection& s) {
  std::optional<std::int64_t> fixed_sequence;  // of a known model
  r.required("model", s.model, "a built-in model (`tessera list models`) or a Hugging Face config.json");
  if (r.has("model") && r.ok()) look_up(r, "model", [&] { fixed_sequence = find_model(s.model).fixed_sequence; });
  r.required("mode", s.mode, "inference: one forward pass over the prompts (prefill); training: one optimizer step");
  r.optional("dtype", s.dtype, "of weights, activations and gradients");
  r.optional("sequence", s.sequence, "tokens per sample; models of images have none");
  r.optional("batch", s.batch, "inference: prompts, over all replicas");
  r.optional("global_batch", s.global_batch, "training: samples per step, over all replicas");
  r.optional("micro_batch", s.micro_batch, "training: samples that one replica computes at once");
  r.optional("attention", s.attention, "eager writes the score matrix to memory, flash does not");
  r.optional("recompute", s.recompute,
             "activations computed again in backward: the attention core, all but every second product, whole layers");
  r.optional("optimizer", s.optimizer, "default: adam in training (fp32 master weights and two moments)");
  r.optional("products", s.products, "of linear layers' products, where another (fp8 training)");
  r.optional("fused", s.fused, "chains of elementwise operators run as one kernel, as torch.compile makes them");
  r.optional("cuda_graph", s.cuda_graph, "kernels are launched as one graph: the host costs nothing");
  r.optional("allocator", s.allocator,
             "cold: the first step, or one after PyTorch's empty_cache: the host allocates every tensor anew");
  if (r.has("sequence")) check_count(r, "sequence", s.sequence, kLongestSequence);
  if (!r.has("sequence") && !r.printing() && fixed_sequence.value_or(0) == 0)
    r.error("", "missing key 'sequence': the model's samples are tokens");
  if (r.has("sequence") && fixed_sequence.value_or(0) > 0 && s.sequence != 1)
    r.error("sequence", fmt::format("found {}, but samples of {} are not tokens; leave it out", s.sequence, s.model));
  check_count(r, "batch", s.batch, kMostSamples);
  check_count(r, "global_batch", s.global_batch, kMostSamplesPerStep);
  check_count(r, "micro_batch", s.micro_batch, kMostSamples);
  if (s.recompute != Recompute::none && s.mode == Mode::inference)
    r.error("recompute", "mode inference keeps no activations");
  if (r.has("mode") && s.mode == Mode::training && element_size(s.dtype) < Bytes(2))
    r.error("dtype", fmt::format("training in {} is not supported; use fp32, tf32, fp16, bf16", to_string(s.dtype)));
  if (r.has("mode")) check_batches(r, s);
}

void describe(Reader& r, ParallelSection& s) {
  r.optional("tp", s.tp, "tensor parallelism: GPUs that share every layer");
  r.optional("dp", s.dp, "data parallelism: replicas; default: GPUs / (tp x pp)");
  r.optional("pp", s.pp, "pipeline parallelism: stages of consecutive layers");
  r.optional("cp", s.cp, "context parallelism: GPUs that share every sequence (ring attention)");
  r.optional("ep", s.ep, "expert parallelism: replicas that share the experts; divides dp");
  r.optional("chunks", s.chunks, "stages per GPU: above 1, 1F1B is interleaved");
  r.optional("schedule", s.schedule, "order of a stage's passes; zero_bubble is ZB-H1");
  r.optional("sharding", s.sharding, "what replicas divide: optimizer state, gradients too, parameters too (FSDP)");
  r.optional("sequence_parallel", s.sequence_parallel, "tp divides what lies between its sums, too");
  r.optional("asynchronous_tp", s.asynchronous_tp, "sums over tp run beside their own product");
  r.optional("overlap", s.overlap, "gradients are reduced beside backward, sharded parameters gathered beside forward");
  r.optional("expert_load", s.expert_load, "load of the fullest expert-parallel rank over the mean: skew or capacity");
  r.optional("reduced_as", s.reduced_as, "type of reduced gradients; default: the workload's dtype");
  r.optional("stage_layers", s.stage_layers, "layers of each stage, chunk by chunk; default: as equal as can be");
  r.optional("bucket", s.bucket, "gradients are reduced in buckets of this size");
  check_positive(r, "tp", std::optional(s.tp));
  check_positive(r, "dp", s.dp);
  check_positive(r, "pp", std::optional(s.pp));
  check_positive(r, "cp", std::optional(s.cp));
  check_positive(r, "ep", std::optional(s.ep));
  check_positive(r, "chunks", std::optional(s.chunks));
  if (!(s.expert_load >= 1)) r.error("expert_load", fmt::format("must be 1 or more, found {}", s.expert_load));
  if (r.has("bucket") && s.bucket <= Bytes()) r.error("bucket", "must be positive");
}

namespace {

/// Keys of a run that mean nothing to tenants.
void check_tenant_run(Reader& r, const RunSection& s) {
  for (const char* key : {"cluster", "profile", "nodes", "gpus", "parallel", "placement", "serving", "section_times",
                          "collective_payload"})
    if (r.has(key)) r.error(key, "a run of tenants takes gpu or sharing.devices");
  if (s.gpu && !s.sharing.devices.empty()) r.error("gpu", "both 'gpu' and 'sharing.devices' are given; keep one");
  if (!s.gpu && s.sharing.devices.empty()) r.error("", "missing key 'gpu', or 'devices' in 'sharing'");
  for (const std::string& gpu : s.sharing.devices) look_up(r, "sharing", [&] { find_gpu(gpu); });
  if (s.gpu) look_up(r, "gpu", [&] { find_gpu(*s.gpu); });
  look_up(r, "dispatch", [&] { make_dispatch_policy(s.dispatch); });
  if (!r.ok()) return;
  for (const TenantSection& tenant : s.tenants) {
    const auto on = tenant.devices.empty() ? std::vector{0} : tenant.devices;
    if (on.front() < 0 || tenant.profile) continue;
    for (const std::string& gpu : s.gpu ? std::vector{*s.gpu} : s.sharing.devices)
      check_dtype(r, tenant.dtype, find_gpu(gpu), "tenants");
  }
  for (const std::string& mistake : sharing_mistakes(shared_sections({}, s))) r.error("tenants", mistake);
}

/// True if the run has tenants, which are then all that is computed.
bool describe_tenants(Reader& r, RunSection& s) {
  r.optional("tenants", s.tenants, "models that share GPUs, instead of a workload");
  r.optional("sharing", s.sharing, "how the tenants share");
  if (r.has("tenants") && r.ok() && s.tenants.empty()) r.error("tenants", "at least one tenant is needed");
  if (!r.has("tenants")) {
    if (r.has("sharing")) r.error("sharing", "is about tenants, and there are none");
    return false;
  }
  if (Node workload; r.has("workload")) {
    r.optional("workload", workload, "");
    r.error("workload", "both 'workload' and 'tenants' are given; keep one");
  }
  return true;
}

}  // namespace

void describe(Reader& r, RunSection& s) {
  r.required("name", s.name, "of this run; names the folder of its results");
  check_name(r, s.name);
  const bool shared = describe_tenants(r, s);
  if (!shared) r.required("workload", s.workload, "what is computed");
  r.optional("gpu", s.gpu, "one GPU in a plain host (`tessera list platforms`); or:");
  r.optional("cluster", s.cluster, "a node or cluster (`tessera list platforms`), or a path to one");
  r.optional("profile", s.profile,
             "measured offsets of the GPU (`tessera calibrate --gpu`): a name in platforms/profiles, or a path");
  r.optional("section_times", s.section_times,
             "times of embedding, block and head that kernels are stretched to (`search` writes them): a path");
  r.optional("collective_payload", s.collective_payload,
             "rings that fill this share of every link; default: as NCCL does collectives");
  if (s.collective_payload && !(*s.collective_payload >= kLeastPayload && *s.collective_payload <= 1))
    r.error("collective_payload", fmt::format("must be {} to 1, found {}", kLeastPayload, *s.collective_payload));
  r.optional("nodes", s.nodes, "of the cluster; default: as its file says");
  r.optional("gpus", s.gpus, "of the cluster that the run uses; default: all");
  r.optional("parallel", s.parallel, "how it is spread; tp x dp x pp is the number of GPUs");
  r.optional("placement", s.placement, "which GPUs the ranks get (`tessera list policies`)");
  r.optional("dispatch", s.dispatch, "how a GPU shares itself (`tessera list policies`)");
  r.optional("serving", s.serving, "inference: how prompts become batches (`tessera list policies`)");
  check_positive(r, "nodes", s.nodes);
  check_positive(r, "gpus", s.gpus);
  if (shared) {
    if (r.ok()) check_tenant_run(r, s);
    return;
  }
  if (!r.printing() && s.gpu.has_value() == s.cluster.has_value())
    r.error("", s.gpu ? "both 'gpu' and 'cluster' are given; keep one" : "missing key 'gpu' or 'cluster'");
  else if (!r.printing())
    look_up(r, s.gpu ? "gpu" : "cluster", [&] { platform_of(s); });
  if (!r.printing() && r.ok() && s.profile)
    look_up(r, "profile", [&] { load_profile_for(platform_of(s).gpu, *s.profile, kCalibratedModel); });
  if (!r.printing() && r.ok() && s.section_times) look_up(r, "section_times", [&] { check_sections(r, s); });
  if (s.gpu && s.nodes) r.error("nodes", "only a cluster has nodes");
  look_up(r, "placement", [&] { make_placement_policy(s.placement); });
  look_up(r, "dispatch", [&] { make_dispatch_policy(s.dispatch); });
  for (const DispatchPolicyEntry& entry : dispatch_policies())
    if (entry.name == s.dispatch && entry.needs_tenants)
      r.error("dispatch", fmt::format("{} shares a GPU among tenants; a workload has it alone", s.dispatch));
  look_up(r, "serving", [&] { make_serving_policy(s.serving); });
  if (!r.printing() && r.ok()) check_together(r, s);
}

void describe(Reader& r, Scenario& s) {
  r.required("name", s.name, "of the scenario; names the folder of its results");
  check_name(r, s.name);
  r.optional("seed", s.seed, "of every random choice");
  r.optional("fidelity", s.fidelity,
             "kernel: one event per kernel; wave: per cohort of blocks; auto: where it matters");
  r.optional("fold", s.fold, "ranks that do the same at symmetric places are simulated once");
  r.optional("latency_model", s.latency_model, "prices kernels (`tessera list latency-models`)");
  r.required("runs", s.runs, "one or more runs");
  if (!r.printing()) look_up(r, "latency_model", [&] { make_latency_model(s.latency_model); });
  if (r.has("latency_model") && s.latency_model != kCalibratedModel &&
      std::ranges::any_of(s.runs, [](const RunSection& run) { return run.profile.has_value(); }))
    r.error("latency_model",
            fmt::format("profiles shift the latency model '{}'; use it, or no profile", kCalibratedModel));
  if (r.has("runs") && r.ok() && s.runs.empty()) r.error("runs", "at least one run is needed");
  if (!r.ok()) return;
  std::set<std::string> names;
  for (const RunSection& run : s.runs)
    if (!names.insert(run.name).second) r.error("runs", fmt::format("two runs are named '{}'", run.name));
}

std::string scenario_reference() {
  std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const ReferenceRow& row : reference<Scenario>())
    fmt::format_to(std::back_inserter(text), "| `{}` | {}{} | {} | {} |\n", row.path, row.type,
                   row.unit.empty() ? "" : ", " + row.unit, row.required ? "**required**" : row.default_text,
                   row.meaning);
  return text;
}

}  // namespace tessera
