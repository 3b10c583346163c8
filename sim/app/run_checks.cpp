// What is wrong between the parts of a run: model, platform, plan.
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/support.hpp"
#include "sim/app/scenario_checks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/rank_operators.hpp"
#include "sim/place/policy.hpp"

namespace tessera {

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

namespace {

void check_world(Reader& r, const RunSection& s, const ClusterSpec& cluster) {
  const int used = s.gpus.value_or(cluster.gpus());
  const int tp = s.parallel.tp, pp = s.parallel.pp, cp = s.parallel.cp;
  const std::string_view at = r.has("parallel") ? "parallel" : "";
  if (used > cluster.gpus())
    return r.error("gpus", fmt::format("{} GPUs are asked for, {} has {}", used, cluster.name, cluster.gpus()));
  if (make_placement_policy(s.placement)->chooses()) return;
  const std::vector<int>& replicas = s.parallel.stage_replicas;
  const std::string stages = (cp > 1 ? fmt::format(" x cp {}", cp) : "") +
                             (!replicas.empty() ? fmt::format(" x stage_replicas {}", fmt::join(replicas, " + "))
                              : pp > 1          ? fmt::format(" x pp {}", pp)
                                                : "");
  if (!s.parallel.dp && used % s.parallel.gpus() != 0)
    return r.error(at, fmt::format("tp {}{} does not divide the {} GPUs", tp, stages, used));
  if (const std::int64_t world = s.parallel.gpus() * stated_replicas(s, used); world != used)
    r.error(at, fmt::format("tp {} x dp {}{} = {} GPUs, but {} are used{}", tp, stated_replicas(s, used), stages, world,
                            used, s.gpus || world > used ? "" : fmt::format(" (gpus: {} uses a part)", world)));
}

void check_batch_split(Reader& r, const RunSection& s, std::int64_t dp) {
  const WorkloadSection& w = s.workload;
  if (w.mode == Mode::inference) {
    if (*w.batch % dp != 0) r.error("workload", fmt::format("batch {} is not a multiple of dp {}", *w.batch, dp));
  } else if (w.micro_batch && *w.global_batch % (dp * *w.micro_batch) != 0) {
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

/// Keys that would be accepted without any effect.
void check_effects(Reader& r, const RunSection& s, const ModelConfig& model) {
  const ParallelSection& p = s.parallel;
  const auto useless = [&r](bool given, std::string_view why) {
    if (given) r.error("parallel", std::string(why));
  };
  useless(p.schedule != PipelineSchedule::one_f_one_b && p.pp == 1, "schedule: pp is 1, and only a pipeline has one");
  useless(p.asynchronous_tp && !(p.tp > 1 && p.sequence_parallel),
          "asynchronous_tp: needs tp above 1 and sequence_parallel, whose gathers and scatters it hides");
  useless(p.sequence_parallel && p.tp == 1, "sequence_parallel: tp is 1, and it divides among the ranks of tp");
  useless(p.tp_waits && (p.tp == 1 || s.workload.mode == Mode::inference),
          "tp_waits: is about gradients that ranks of tp sum");
  useless(p.expert_load != 1 && p.ep == 1, "expert_load: ep is 1, and every rank has all experts");
  if (p.cp > 1 && !model.network.empty())
    r.error("parallel", fmt::format("cp {}: {} has no attention over a sequence to divide", p.cp, model.name));
}

}  // namespace

void check_dtype(Reader& r, Dtype dtype, const GpuSpec& gpu, std::string_view key) {
  if (const auto wrong = dtype_error(dtype, gpu)) r.error(key, *wrong);
}

namespace {

void check_plan_size(Reader& r, const RunSection& s) {
  const RunSpec spec = resolve({}, s);
  const auto kernels = build_graph(spec.model, spec.build).operators.size();
  if (static_cast<double>(kernels) * static_cast<double>(spec.parallel.micro_batches) > kMostTasks)
    r.error("workload",
            fmt::format("global_batch {} makes {} micro-batches of {} kernels; a plan has at most {:.0f} of "
                        "them: lower global_batch or raise micro_batch",
                        s.workload.global_batch.value_or(0), spec.parallel.micro_batches, kernels, kMostTasks));
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

}  // namespace

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

void check_chosen(Reader& r, const RunSection& s) {
  const auto policy = make_placement_policy(s.placement);
  const bool chooses_all = policy->chooses() && !policy->keeps_stages();
  if (s.workload.mode == Mode::training && !s.workload.micro_batch && !chooses_all)
    r.error("workload", "missing key 'micro_batch', which mode training needs");
  if (!policy->chooses() || !r.has("parallel")) return;
  Node given;
  r.optional("parallel", given, "");
  std::vector<std::string_view> chosen{"dp", "cp", "ep"};
  if (chooses_all) chosen.insert(chosen.end(), {"tp", "pp", "chunks", "stage_layers", "stage_replicas"});
  for (const std::string_view key : chosen)
    if (given.find(key) != nullptr)
      r.error("parallel",
              fmt::format("{}: placement {} chooses it; leave it out, or take placement packed", key, s.placement));
}

void check_together(Reader& r, const RunSection& s) {
  const ClusterSpec cluster = platform_of(s);
  check_model_split(r, s, find_model(s.workload.model));
  check_dtype(r, s.workload.dtype, cluster.gpu, "workload");
  if (s.workload.products) check_dtype(r, *s.workload.products, cluster.gpu, "workload");
  if (!make_placement_policy(s.placement)->chooses()) check_effects(r, s, find_model(s.workload.model));
  check_world(r, s, cluster);
  if (r.ok()) check_batch_split(r, s, stated_replicas(s, s.gpus.value_or(cluster.gpus())));
  if (r.ok() && !make_placement_policy(s.placement)->chooses()) {
    check_plan_size(r, s);
    if (r.ok()) check_plan(r, s);
    for (const std::string& mistake : group_mistakes(own_collectives(s.collectives), resolve({}, s).parallel))
      r.error("collectives", mistake);
  }
}

}  // namespace tessera
