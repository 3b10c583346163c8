#include "sim/app/reproduce/gacer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/app/reproduce/paper.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr std::size_t kThreeTenantGroups = 7, kTrainingBesideInference = 9;  // of orion_groups

void run_makespans(GacerResults& r, const std::vector<TenantGroup>& groups, const LatencyModel& latency,
                   const ReproduceOptions& options) {
  for (const TenantGroup& group : groups) {
    options.progress(fmt::format("makespans: {}", group.name));
    r.profiles.push_back(makespans(group, 0, r.contenders));
  }
  const auto models = [&](std::string_view gpu, std::int64_t batch) {
    for (const TenantGroup& group : model_groups(find_gpu(gpu), batch, latency)) {
      options.progress(fmt::format("makespans: {}, {}, batch {}", group.name, gpu, batch));
      r.models.push_back(makespans(group, batch, r.model_contenders));
    }
  };
  for (const std::int64_t batch : {1, 2, 4, 8, 16, 32}) models("V100-SXM2-32GB", batch);
  for (const char* gpu : {"Titan-V", "GTX-1080-Ti", "A100-SXM4-40GB", "H100-SXM-80GB"})
    for (const std::int64_t batch : {1, 8, 32}) models(gpu, batch);
}

void run_arrivals(GacerResults& r, const std::vector<TenantGroup>& groups, const ReproduceOptions& options) {
  std::vector<std::size_t> chosen{kTrainingBesideInference};
  for (std::size_t i = 0; i < kThreeTenantGroups; ++i) chosen.push_back(i);
  for (const std::size_t i : chosen)
    for (const auto& [load, burst] : std::array<std::pair<double, std::int64_t>, 2>{{{0.9, 1}, {0.6, 4}}}) {
      options.progress(fmt::format("arrivals: {}, load {}, bursts of {}", groups[i].name, load, burst));
      r.arrivals.push_back(with_arrivals(groups[i], i < kThreeTenantGroups ? load : load / 3, burst, r.contenders));
    }
}

void run_noise(GacerResults& r, const std::vector<TenantGroup>& groups, const ReproduceOptions& options) {
  constexpr int kDraws = 2;
  for (std::size_t i = 0; i < kThreeTenantGroups; ++i)
    for (const double deviation : {0.1, 0.2, 0.4}) {
      options.progress(fmt::format("wrong durations: {}, {:.0f} %", groups[i].name, 100 * deviation));
      r.noise.push_back(with_noise(groups[i], deviation, kDraws));
    }
}

void run_measurements(GacerResults& r, const std::filesystem::path& data, const LatencyModel& latency,
                      const ReproduceOptions& options) {
  options.progress("measured co-location");
  r.shares = igniter_shares(latency);
  r.copies = igniter_copies(latency);
  r.slices = miso_slices(data, latency);
  r.preemption = xsched_preemption(data);
  r.pair = ios_pair(latency);
  r.training = gavel_pairs(data, latency);
}

}  // namespace

Reproduction reproduce_gacer(const ReproduceOptions& options) {
  const std::filesystem::path data = options.data / "colocation";
  if (!std::filesystem::is_directory(data))
    throw InputError(Diagnostic{.file = data.string(),
                                .message = "no such folder: reproduce gacer needs the profiles and measured pairs"});
  const auto latency = make_latency_model();
  GacerResults r;
  r.contenders = contenders();
  r.contenders.push_back(ios_like());
  r.model_contenders = quick_contenders();
  const std::vector<TenantGroup> groups = orion_groups(data);
  run_makespans(r, groups, *latency, options);
  run_ablations(r, std::span(groups).first(kThreeTenantGroups), options.progress);
  run_noise(r, groups, options);
  run_arrivals(r, groups, options);
  run_measurements(r, data, *latency, options);
  std::string summary;
  for (const MakespanRow& row : r.profiles) summary += makespan_line(row, r.contenders);
  return {std::move(summary), {{"gacer.md", gacer_page(r, options.command)}, {"gacer.svg", gacer_picture(r)}}};
}

}  // namespace tessera
