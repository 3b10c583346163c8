// A scenario file: the runs that a user asks for. Reading it finds every mistake before anything runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/app/collectives_section.hpp"
#include "sim/app/jobs/section.hpp"
#include "sim/app/run.hpp"
#include "sim/app/tenants/shared_run.hpp"
#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"
#include "sim/config/reader.hpp"
#include "sim/des/simulate.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

/// Whether the framework's caching allocator holds the memory of an earlier step, or nothing.
enum class AllocatorState : std::uint8_t { warm, cold };

/// What is computed.
struct WorkloadSection {
  WorkloadSection() = default;  // no aggregate: g++ 12 warns of uninitialized members in T{} otherwise
  std::string model;
  Mode mode = Mode::inference;
  Dtype dtype = Dtype::bf16;
  std::int64_t sequence = 1;
  std::optional<std::int64_t> batch, global_batch, micro_batch;
  AttentionKind attention = AttentionKind::flash;
  Recompute recompute = Recompute::none;
  std::optional<Dtype> products;
  std::optional<OptimizerKind> optimizer;
  bool fused = false, cuda_graph = false, row_scales = false;
  AllocatorState allocator = AllocatorState::warm;
};

/// How it is spread over the GPUs.
struct ParallelSection {
  int tp = 1, pp = 1;
  std::optional<int> dp;
  int cp = 1, ep = 1, chunks = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Sharding sharding = Sharding::none;
  bool sequence_parallel = false, overlap = true, asynchronous_tp = false, tp_waits = false;
  double expert_load = 1;
  std::optional<Dtype> reduced_as;
  std::vector<int> stage_layers{}, stage_replicas{};
  Bytes bucket = ParallelSpec{}.bucket;

  /// Of one replica of the model.
  [[nodiscard]] std::int64_t gpus() const {
    const ParallelSpec stages{.pp = pp, .stage_replicas = stage_replicas};
    return std::int64_t{tp} * cp * stages.programs();
  }
};

/// A job: known by its duration, or by a workload.
struct JobSection {
  JobSection() = default;  // no aggregate, as above
  std::string name;
  Seconds arrival;
  std::optional<int> gpus;
  std::optional<Seconds> duration;
  double communication = 0;
  std::optional<WorkloadSection> workload;
  ParallelSection parallel;
  std::int64_t steps = 0;
};

/// Jobs that share the run's cluster.
struct JobsSection {
  JobsSection() = default;  // as above
  std::vector<JobSection> list{};
  std::optional<JobTraceSection> trace;
  std::optional<SyntheticJobsSection> synthetic;
  std::string placement = JobsOptions{}.placement, queue = JobsOptions{}.queue;
  bool contention = true;
};

/// One run of a scenario.
struct RunSection {
  RunSection() = default;  // no aggregate, as above
  std::string name;
  WorkloadSection workload;
  std::optional<std::string> gpu, cluster, profile, section_times;
  std::optional<int> nodes, gpus;
  ParallelSection parallel;
  std::optional<double> collective_payload;  // rings that fill so much of a link, instead of NCCL's ways
  CollectivesSection collectives;
  std::string placement = "packed", dispatch = "streams", serving = "static";
  std::vector<TenantSection> tenants{};  // instead of the workload
  SharingSection sharing;
  std::optional<JobsSection> jobs;  // instead of the workload
  std::optional<ReliabilitySection> reliability;
};

struct Scenario {
  std::string name;
  std::int64_t seed = 1;
  Fidelity fidelity = Fidelity::automatic;
  Fold fold = Fold::on;
  std::string latency_model = "tile";
  std::vector<RunSection> runs;
};

void describe(Reader& r, WorkloadSection& s);
void describe(Reader& r, ParallelSection& s);
void describe(Reader& r, JobSection& s);
void describe(Reader& r, JobsSection& s);
void describe(Reader& r, RunSection& s);
void describe(Reader& r, Scenario& s);

/// A scenario and the document that it came from, after `--set` and with paths resolved against its folder.
struct ScenarioFile {
  std::filesystem::path path;
  Document document;
  Scenario scenario;
};

/// Reads and checks a scenario; `settings` are "path=value". InputError with all mistakes.
ScenarioFile read_scenario(const std::filesystem::path& path, std::span<const std::string> settings = {});

/// Reads several; InputError with the mistakes of all, or where two have one name.
std::vector<ScenarioFile> read_scenarios(std::span<const std::string> paths, std::span<const std::string> settings);

/// Replicas that the scenario states, on so many GPUs: dp, or what tp and pp leave; one for a policy that chooses.
int stated_replicas(const RunSection& section, int gpus);

/// What the run runs on.
ClusterSpec platform_of(const RunSection& section);

/// A run with its model and platform loaded.
RunSpec resolve(const Scenario& scenario, const RunSection& section);

/// What a run of tenants is made of; refers to `section`.
SharedSections shared_sections(const Scenario& scenario, const RunSection& section);
/// A run of tenants; they are read and checked with the scenario.
SharedRunSpec resolve_tenants(const Scenario& scenario, const RunSection& section, const LatencyModel& latency);

/// The table of every key, generated from `describe`, in Markdown.
std::string scenario_reference();

}  // namespace tessera
