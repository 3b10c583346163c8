// Which GPUs of the cluster a job's ranks run on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

/// GPU (global index) of each rank.
struct Placement {
  std::vector<int> gpu_of_rank;
};
struct Infeasible {
  std::string why;
};
using PlacementResult = std::variant<Placement, Infeasible>;

/// A job before its parallelism is chosen. `asked`: the scenario's; its replicas x micro-batches x `build.batch` are
/// the samples of a step, whatever is chosen.
struct Job {
  const ModelConfig& model;
  const BuildOptions& build;  // of one micro-batch
  const ParallelSpec& asked;
  const LatencyModel& latency;
  PredictContext context{};
  double collective_payload = 1;     // share of a link that collectives fill
  bool chooses_micro_batch = false;  // off: `build.batch` stays

  [[nodiscard]] std::int64_t samples() const { return asked.dp * asked.micro_batches * build.batch; }
};
/// How a job is spread, and samples of a micro-batch.
struct JobChoice {
  ParallelSpec parallel;
  std::int64_t micro_batch = 1;
};
using JobChoiceResult = std::variant<JobChoice, Infeasible>;

/// Called at job arrival with the GPUs that are free then: first for the parallelism, then for the ranks' places.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  /// It chooses the parallelism: the scenario gives the GPUs and the step's samples, and does not split them itself.
  [[nodiscard]] virtual bool chooses() const { return false; }
  /// Of those that choose: it keeps the scenario's tp, pp, stages and micro-batch.
  [[nodiscard]] virtual bool keeps_stages() const { return false; }
  /// What the job is spread over; as asked, unless the policy chooses.
  [[nodiscard]] virtual JobChoiceResult parallelism(const Job& job, const ClusterSpec& cluster,
                                                    std::span<const int> free_gpus) const;
  [[nodiscard]] virtual PlacementResult place(const Plan& plan, const ClusterSpec& cluster,
                                              std::span<const int> free_gpus) const = 0;
};

struct PlacementPolicyEntry {
  std::string_view name, what;
  std::unique_ptr<PlacementPolicy> (*make)();
};
std::span<const PlacementPolicyEntry> placement_policies();  // alphabetical; `packed` is the default
std::unique_ptr<PlacementPolicy> make_placement_policy(std::string_view name);

}  // namespace tessera
