#include "sim/app/reproduce/colocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "sim/app/tenants/workload.hpp"
#include "sim/base/file.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/csv.hpp"
#include "sim/dispatch/evaluate.hpp"
#include "sim/dispatch/interference.hpp"

namespace tessera {

namespace {

Tenant tenant_of(std::string name, const TenantWorkload& workload) {
  Tenant tenant;
  tenant.name = std::move(name);
  tenant.kernels = workload.kernels;
  return tenant;
}

/// TensorRT fuses and replays; fp32.
TenantWorkload tensorrt(std::string_view model, std::int64_t batch, const GpuSpec& gpu, const LatencyModel& latency) {
  return tenant_workload(find_model(model), {.batch = batch, .dtype = Dtype::fp32, .fused = true}, gpu, latency);
}

Seconds time_at_share(const TenantWorkload& workload, const GpuSpec& gpu, double share) {
  Tenant tenant = tenant_of("one", workload);
  tenant.sm_cap = share;
  return evaluate(std::span(&tenant, 1), gpu, "mps").makespan;
}

struct IgniterModel {
  std::string_view name, model;
  // ms by batch (1, 16, 32) and share of the SMs (10, 50, 100 %)
  std::array<std::array<double, 3>, 3> time;
  double copies;  // active time of two at batch 16 over that of one
};
constexpr std::array<IgniterModel, 4> kIgniter{
    {{"AlexNet", "alexnet", {{{3.62, 0.93, 0.71}, {16.71, 3.62, 2.07}, {30.88, 6.47, 3.60}}}, 3.865 / 3.683},
     {"ResNet-50", "resnet50", {{{7.69, 2.85, 2.39}, {91.70, 20.08, 11.54}, {180.5, 38.38, 21.34}}}, 21.30 / 20.27},
     {"VGG19", "vgg19", {{{20.93, 4.77, 2.76}, {253.7, 51.86, 28.59}, {501.7, 102.3, 56.32}}}, 58.58 / 52.02},
     {"SSD", "ssd300", {{{25.24, 6.92, 4.55}, {370.3, 77.40, 43.62}, {739.7, 152.4, 84.81}}}, 89.01 / 81.40}}};
constexpr std::array<std::int64_t, 3> kIgniterBatches{1, 16, 32};
constexpr std::array<double, 3> kIgniterShares{0.1, 0.5, 1};

}  // namespace

std::vector<ShareRow> igniter_shares(const LatencyModel& latency) {
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  std::vector<ShareRow> rows;
  for (const IgniterModel& model : kIgniter)
    for (std::size_t b = 0; b < kIgniterBatches.size(); ++b) {
      const TenantWorkload workload = tensorrt(model.model, kIgniterBatches[b], gpu, latency);
      const Seconds whole = time_at_share(workload, gpu, 1);
      for (std::size_t s = 0; s + 1 < kIgniterShares.size(); ++s) {
        const double ratio = time_at_share(workload, gpu, kIgniterShares[s]) / whole;
        rows.push_back({std::string(model.name), kIgniterBatches[b], kIgniterShares[s],
                        Seconds(model.time[b][s] * 1e-3), Seconds(model.time[b][2] * 1e-3) * ratio});
      }
    }
  return rows;
}

std::vector<CopyRow> igniter_copies(const LatencyModel& latency) {
  constexpr std::int64_t kRequests = 20;
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  std::vector<CopyRow> rows;
  for (const IgniterModel& model : kIgniter) {
    Tenant one = tenant_of("one", tensorrt(model.model, 16, gpu, latency));
    one.sm_cap = 0.5;
    one.arrivals.requests = kRequests;
    Tenant other = one;
    other.name = "other";
    // Out of phase by half a request, as copies that are not started together are.
    std::ranges::rotate(other.kernels, other.kernels.begin() + static_cast<std::ptrdiff_t>(other.kernels.size() / 2));
    const std::array both{one, other};
    const Seconds alone = evaluate(std::span(&one, 1), gpu, "mps").makespan;
    rows.push_back({std::string(model.name), model.copies, evaluate(both, gpu, "mps").makespan / alone});
  }
  return rows;
}

namespace {

struct MisoModel {
  std::string_view name, model;
  std::int64_t sequence;
};
// MISO does not say more of its inputs: CIFAR-10 for the CNNs, as their step times ask for; sentences of Multi30k's
// length; 512 tokens for BERT; 256 pixels for CycleGAN.
constexpr std::array<MisoModel, 5> kMiso{{{"transformer", "transformer", 32},
                                          {"bert", "bert-base", 512},
                                          {"resnet", "resnet50", 1},
                                          {"mobilenet", "mobilenet-v2", 1},
                                          {"cyclegan", "cyclegan", 1}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSlices{
    {{"7g", "7g.40gb"}, {"4g", "4g.20gb"}, {"3g", "3g.20gb"}, {"2g", "2g.10gb"}, {"1g", "1g.5gb"}}};

ModelConfig miso_model(const MisoModel& model) {
  ModelConfig config = find_model(model.model);
  if (model.model == "resnet50" || model.model == "mobilenet-v2") config.image = 32, config.classes = 10;
  return config;
}

Seconds step_on(const TenantWorkload& workload, const GpuSpec& gpu, std::string_view slice) {
  Tenant tenant = tenant_of("one", workload);
  tenant.mig_slice = slice;
  return evaluate(std::span(&tenant, 1), gpu, "mig").makespan;
}

}  // namespace

std::vector<SliceRow> miso_slices(const std::filesystem::path& data, const LatencyModel& latency) {
  const GpuSpec gpu = find_gpu("A100-SXM4-40GB");
  const CsvTable table = CsvTable::read(data / "miso_a100_mig_step_time_ms.csv");
  const std::size_t model_column = table.need("model"), batch_column = table.need("batch");
  std::vector<SliceRow> rows;
  for (const MisoModel& model : kMiso)
    for (std::size_t r = 0; r < table.rows(); ++r) {
      if (table.cell(r, model_column) != model.name) continue;
      const std::int64_t batch = table.integer(r, batch_column).value();
      const TenantWorkload workload = tenant_workload(miso_model(model),
                                                      {.mode = Mode::training,
                                                       .batch = batch,
                                                       .sequence = model.sequence,
                                                       .dtype = Dtype::fp32,
                                                       .attention = AttentionKind::eager,
                                                       .optimizer = OptimizerKind::adam,
                                                       .accumulate = false},
                                                      gpu, latency);
      const Seconds whole(table.number(r, table.need("7g.40gb")).value() * 1e-3);
      const Seconds busy = step_on(workload, gpu, "7g");
      for (std::size_t s = 1; s < kSlices.size(); ++s) {
        const auto measured = table.number(r, table.need(kSlices[s].second));
        if (!measured) continue;
        const Seconds on_slice = step_on(workload, gpu, kSlices[s].first);
        // A training loop reads its loss and fetches its next batch while the GPU waits.
        const Seconds host = max(whole - busy, Seconds(0.0));
        const Seconds step = host > Seconds(0.0) ? host + on_slice : whole * (on_slice / busy);
        rows.push_back({std::string(model.name), std::string(kSlices[s].first), batch, whole.value() * 1e3 / *measured,
                        whole / step});
      }
    }
  return rows;
}

std::vector<PreemptionRow> xsched_preemption(const std::filesystem::path& data) {
  constexpr std::array kLevels{Preemption::throttle, Preemption::flush, Preemption::interrupt};
  std::vector<PreemptionRow> rows;
  for (int level = 1; level <= 3; ++level) {
    // Columns apart by blanks: kernel_time avg p50 p90 p99, in microseconds.
    const std::string text = read_file(data / fmt::format("xsched_fig9_level{}.dat", level));
    std::istringstream lines(text);
    std::string header;
    std::getline(lines, header);
    for (double kernel = 0, mean = 0, p50 = 0, p90 = 0, p99 = 0; lines >> kernel >> mean >> p50 >> p90 >> p99;) {
      if (kernel > 2000) continue;  // one row stands for any length
      const Seconds length(kernel * 1e-6);
      rows.push_back({level, length, Seconds(p50 * 1e-6),
                      preemption_latency(kLevels[static_cast<std::size_t>(level) - 1], length)});
    }
  }
  return rows;
}

PairRow ios_pair(const LatencyModel& latency) {
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  PairRow row{.first = Seconds(110.7e-6), .second = Seconds(126.0e-6), .measured = Seconds(161.5e-6), .predicted = {}};
  const auto conv = [](std::int64_t out) {
    return Kernel{Op::conv2d, Dtype::fp32,
                  ConvShape{.batch = 1, .c_in = 375, .c_out = out, .kernel = 3, .image = 14, .pad = 1}};
  };
  const std::array kernels{conv(375), conv(750)};
  const CostTable costs = latency.predict(kernels, gpu, {});
  std::array<Tenant, 2> tenants;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    tenants[i].name = describe_kernel(kernels[i]);
    tenants[i].kernels.push_back({shared_cost(costs[i], KernelClass::compute, gpu), KernelClass::compute, {}});
    tenants[i].kernels.front().cost.time = Estimate<Seconds>::exact(i == 0 ? row.first : row.second);
  }
  row.predicted = evaluate(tenants, gpu, "streams").makespan;
  return row;
}

}  // namespace tessera
