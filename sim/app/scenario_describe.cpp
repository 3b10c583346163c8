// What a scenario may say and what is wrong with one: the only place that knows its keys and defaults.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "sim/app/jobs/jobs_run.hpp"
#include "sim/app/profiles.hpp"
#include "sim/app/scenario_checks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/dispatch/policy.hpp"
#include "sim/place/policy.hpp"
#include "sim/serve/policy.hpp"

namespace tessera {

static constexpr std::array<std::string_view, 3> enum_names(Fidelity) {
  return {"auto", "kernel", "wave"};
}
static constexpr std::array<std::string_view, 2> enum_names(Fold) {
  return {"off", "on"};
}

namespace {

/// Of a link that is payload: less is a slip, and makes flows of more bytes than the event loop counts.
constexpr double kLeastPayload = 0.001;

constexpr std::size_t kLongestName = 100;

/// Names become folders and are used in --set. Called right after reading the name, the first key.
void check_name(Reader& r, const std::string& name) {
  const auto fine = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  if (name.size() > kLongestName)
    r.error("name", fmt::format("{} characters; a folder's name has at most {}", name.size(), kLongestName));
  if (r.has("name") && r.ok() && (name.empty() || !std::ranges::all_of(name, fine)))
    r.error("name", fmt::format("'{}' names a folder: use letters, digits, - and _", name));
}

/// Keys of a run that mean nothing to tenants.
void check_tenant_run(Reader& r, const RunSection& s) {
  for (const char* key : {"cluster", "profile", "nodes", "gpus", "parallel", "placement", "serving", "section_times",
                          "collective_payload", "collectives"})
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

/// Keys of a run that mean nothing to jobs.
void check_job_run(Reader& r, const RunSection& s) {
  for (const char* key : {"gpu", "profile", "gpus", "parallel", "placement", "dispatch", "serving", "section_times",
                          "collective_payload"})
    if (r.has(key)) r.error(key, "a run of jobs takes cluster, nodes and what is in 'jobs'");
  if (!s.cluster) return r.error("", "missing key 'cluster'");
  if (!look_up(r, "cluster", [&] { platform_of(s); })) return;
  for (const char* key : {"duration", "trials"})
    if (s.reliability && (key[0] == 'd' ? s.reliability->duration.has_value() : s.reliability->trials.has_value()))
      r.error("reliability", fmt::format("{} is of one training run; jobs last as they last", key));
  if (r.ok())
    for (const std::string& mistake : job_mistakes(s)) r.error("jobs", mistake);
}

void check_reliability(Reader& r, const RunSection& s) {
  if (s.workload.mode != Mode::training) return r.error("reliability", "is of a training run, or of jobs");
  if (!s.cluster) return r.error("reliability", "needs a cluster");
  if (!(s.reliability->checkpoint_cost > Seconds()))
    return r.error("reliability", "missing key 'checkpoint_cost': checkpoints that cost nothing are always written");
  const ClusterSpec cluster = platform_of(s);
  const int left = (cluster.nodes - s.reliability->spares) * cluster.node.gpus;
  const int used = s.gpus.value_or(cluster.gpus());
  if (used > left)
    r.error("reliability", fmt::format("the run uses {} GPUs, and {} spares leave {}: give gpus, or more nodes", used,
                                       s.reliability->spares, std::max(0, left)));
}

/// True if the run has jobs, which are then all that is computed.
bool describe_jobs(Reader& r, RunSection& s) {
  r.optional("jobs", s.jobs, "jobs that share the cluster, instead of a workload");
  r.optional("reliability", s.reliability, "failures, checkpoints and spares, of jobs or of a training run");
  if (!s.jobs) return false;
  for (const char* key : {"workload", "tenants"}) {
    if (!r.has(key)) continue;
    if (Node other; key[0] == 'w') r.optional(key, other, "");
    r.error(key, fmt::format("both '{}' and 'jobs' are given; keep one", key));
  }
  return true;
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
  const bool shared = describe_tenants(r, s), jobs = describe_jobs(r, s);
  if (!shared && !jobs) r.required("workload", s.workload, "what is computed");
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
  r.optional("collectives", s.collectives, "how they are done, and what they cost kernels");
  r.optional("nodes", s.nodes, "of the cluster; default: as its file says");
  r.optional("gpus", s.gpus, "of the cluster that the run uses; default: all");
  r.optional("parallel", s.parallel, "how it is spread; tp x dp x pp is the number of GPUs");
  r.optional("placement", s.placement, "which GPUs the ranks get (`tessera list policies`)");
  r.optional("dispatch", s.dispatch, "how a GPU shares itself (`tessera list policies`)");
  r.optional("serving", s.serving, "inference: how prompts become batches (`tessera list policies`)");
  check_positive(r, "nodes", s.nodes);
  check_positive(r, "gpus", s.gpus);
  if (jobs) {
    if (r.ok()) check_job_run(r, s);
    return;
  }
  if (shared && s.reliability) r.error("reliability", "is of a training run, or of jobs");
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
  if (!r.printing() && r.ok()) check_chosen(r, s);
  if (!r.printing() && r.ok()) check_together(r, s);
  if (r.ok() && s.reliability) check_reliability(r, s);
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
