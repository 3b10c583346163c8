// Gavel's training pairs: jobs of PyTorch 1.0's days under MPS, from their scripts' shapes.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/app/reproduce/colocation.hpp"
#include "sim/app/tenants/workload.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/csv.hpp"
#include "sim/dispatch/evaluate.hpp"

namespace tessera {

namespace {

/// Its job types as networks: wikitext-2's model has two layers of 200 and 33,278 words in steps of 35 tokens, Multi30k
/// sentences have up to some 30 tokens and 9,521 words.
struct Job {
  std::string_view name, model;
  std::int64_t sequence, hidden, vocab;  // 0: as published
};
constexpr std::array<Job, 4> kJobs{{{"ResNet-18", "resnet18-cifar", 1, 0, 0},
                                    {"ResNet-50", "resnet50", 1, 0, 0},
                                    {"Transformer", "transformer", 30, 0, 9521},
                                    {"LM", "lstm", 35, 200, 33'278}}};

/// "ResNet-18 (batch size 64)".
std::optional<std::pair<const Job*, std::int64_t>> parse_job(std::string_view text) {
  for (const Job& job : kJobs) {
    const std::string start = fmt::format("{} (batch size ", job.name);
    if (!text.starts_with(start)) continue;
    return std::pair{&job, std::stoll(std::string(text.substr(start.size())))};
  }
  return std::nullopt;
}

Tenant training_job(const Job& job, std::int64_t batch, const GpuSpec& gpu, const LatencyModel& latency,
                    Seconds host_launch) {
  ModelConfig config = find_model(job.model);
  if (job.hidden > 0) config.hidden = job.hidden;
  if (job.vocab > 0) config.vocab = job.vocab;
  Tenant tenant;
  tenant.name = fmt::format("{} b{}", job.name, batch);
  tenant.kernels = tenant_workload(config,
                                   {.mode = Mode::training,
                                    .batch = batch,
                                    .sequence = job.sequence,
                                    .dtype = Dtype::fp32,
                                    .attention = AttentionKind::eager,
                                    .optimizer = OptimizerKind::adam,
                                    .accumulate = false},
                                   gpu, latency)
                       .kernels;
  tenant.batch = static_cast<int>(batch);
  tenant.launch = host_launch;
  return tenant;
}

/// Steps per second up to the end of the last one within `until`.
double rate(const Timeline& timeline, std::uint32_t tenant, Seconds until) {
  double steps = 0;
  Seconds last;
  for (const RequestSpan& request : timeline.requests) {
    if (request.tenant != tenant || request.end > until) continue;
    steps += 1;
    last = max(last, request.end);
  }
  return steps > 0 ? steps / last.value() : 0;
}

class Pairs {
 public:
  explicit Pairs(const LatencyModel& latency)
      : latency_(latency), gpu_(find_gpu("V100-SXM2-32GB")), launch_(single_gpu("V100-SXM2-32GB").node.host_launch) {}

  /// Relative speeds of both.
  std::pair<double, double> speeds(std::string_view a, std::string_view b) {
    constexpr double kSteps = 6;  // of the slower job alone
    std::array<Tenant, 2> both{job(a), job(b)};
    const std::array<Seconds, 2> alone{solo_.at(std::string(a)), solo_.at(std::string(b))};
    const Seconds until = max(alone[0], alone[1]) * kSteps;
    for (Tenant& tenant : both) {
      tenant.arrivals.until = until;
      tenant.arrivals.requests = std::numeric_limits<std::int64_t>::max();
    }
    const Timeline timeline = evaluate(both, gpu_, "mps");
    return {rate(timeline, 0, until) * alone[0].value(), rate(timeline, 1, until) * alone[1].value()};
  }

 private:
  Tenant job(std::string_view text) {
    const auto found = jobs_.find(std::string(text));
    if (found != jobs_.end()) return found->second;
    const auto parsed = parse_job(text);
    Tenant tenant = training_job(*parsed->first, parsed->second, gpu_, latency_, launch_);
    solo_[std::string(text)] = evaluate(std::span(&tenant, 1), gpu_, "mps").makespan;
    return jobs_.emplace(text, std::move(tenant)).first->second;
  }

  const LatencyModel& latency_;
  GpuSpec gpu_;
  Seconds launch_;
  std::map<std::string, Tenant> jobs_;
  std::map<std::string, Seconds> solo_;
};

}  // namespace

std::vector<TrainingPairRow> gavel_pairs(const std::filesystem::path& data, const LatencyModel& latency) {
  const CsvTable table = CsvTable::read(data / "gavel_pairs_normalised.csv");
  const auto column = [&](std::string_view name) { return table.need(name); };
  const std::size_t gpu = column("gpu"), a = column("job_a"), b = column("job_b"), sf_a = column("sf_a"),
                    sf_b = column("sf_b"), norm_a = column("norm_a"), norm_b = column("norm_b"), note = column("note");
  Pairs pairs(latency);
  std::vector<TrainingPairRow> rows;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    if (table.cell(r, gpu) != "v100" || !table.cell(r, note).empty()) continue;
    if (table.cell(r, sf_a) != "1" || table.cell(r, sf_b) != "1") continue;
    if (!parse_job(table.cell(r, a)) || !parse_job(table.cell(r, b))) continue;
    const auto [first, second] = pairs.speeds(table.cell(r, a), table.cell(r, b));
    const std::string name_a(table.cell(r, a)), name_b(table.cell(r, b));
    rows.push_back({name_a, name_b, table.number(r, norm_a).value(), first});
    rows.push_back({name_b, name_a, table.number(r, norm_b).value(), second});
  }
  return rows;
}

}  // namespace tessera
